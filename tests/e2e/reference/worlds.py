"""Recordings without outcomes that nobody has recorded: some are recorded ones altered, others furnished anew."""

from __future__ import annotations

import copy
import random
from typing import TYPE_CHECKING, Any, Final

from tests.e2e.reference import draws

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tests.e2e.reference.draws import Json

_TICKS_MAX: Final = 40
_FURNISHED_MIN: Final = 5
_GAPS_S: Final = [*[15] * 12, 1, 14, 16, 30, 45, 60, 285, 300, 600]
_CONFLICTS: Final = [["conflict"], ["conflict"] * 4, ["conflict"] * 5, ["refused"], ["conflict", "refused"]]


def world(recorded: Sequence[Sequence[Json]], seed: int, number: int) -> list[Json]:
    """A header and at most 40 ticks, the same ones for the same seed and number.

    Half of them are a recorded one with another clock, other settings, rules and troubles, however short that is. The
    others have some settings of a recorded one; ticks, metrics, pods and answers are their own. A second or more is
    between ticks. A scale without `spec` is to be as the sync before has left it.
    """
    dice = random.Random(f"{seed} {number}")  # noqa: S311  # nothing secret
    origin = dice.choice(recorded)
    header = copy.deepcopy(origin[0])
    header |= {"name": f"world-{seed}-{number}", "settings": draws.settings(header["settings"], dice)}
    if dice.random() < 0.5:
        ticks = [without_outcome(tick) for tick in copy.deepcopy(origin[1 : _TICKS_MAX + 1])]
        header["about"] = f"altered from {origin[0]['name']} by tests/e2e/reference"
        _alter(header, ticks, dice)
    else:
        ticks = [{"t": 0} for _ in range(dice.randint(_FURNISHED_MIN, _TICKS_MAX))]
        header["about"] = "furnished by tests/e2e/reference"
        _furnish(header, ticks, dice)
    return [header, *ticks]


def without_outcome(line: Mapping[str, Any]) -> Json:
    """A line of a recording that tells nothing of what was decided."""
    return {name: field for name, field in line.items() if name != "outcome"}


def _alter(header: Json, ticks: Sequence[Json], dice: random.Random) -> None:
    """Other moments, limits, scales and troubles; metrics, pods and answers are the recorded ones."""
    draws.limits(header["hpa"]["spec"], dice)
    follows = dice.random() < 0.3
    before = 0
    for tick in ticks:
        if dice.random() < 0.3:
            tick["t"] += dice.choice([-14, -1, 0, 1, 15, 45, 285, 300, 600])
        if tick["t"] <= before:
            tick["t"] = before + dice.choice([1, 14, 15, 16])
        if "hpaSpec" in tick:
            draws.limits(tick["hpaSpec"], dice)
        if "error" not in tick["scale"] and dice.random() < 0.1:
            tick["scale"]["spec"] = dice.randint(0, 30)
        elif follows and before > 0:
            tick["scale"].pop("spec", None)
        before = tick["t"]
        _trouble(tick, dice)


def _furnish(header: Json, ticks: Sequence[Json], dice: random.Random) -> None:
    """Everything anew. A quarter of these are about scaling to zero and back."""
    idle = dice.random() < 0.25
    if idle:
        header["settings"].setdefault("featureGates", {})["HPAScaleToZero"] = True
        header["settings"]["downscaleStabilization"] = dice.choice([1, 15, 30])
    sources = draws.SOURCES_FROM_ZERO if idle else draws.SOURCES
    spec = header["hpa"]["spec"] = _spec(header["hpa"]["spec"], sources, dice)
    follows = dice.random() < 0.7
    pods: dict[str, Json] = {}
    t = 0
    for number, tick in enumerate(ticks):
        t += dice.choice(_GAPS_S)
        tick["t"] = t
        if dice.random() < 0.05:
            spec = tick["hpaSpec"] = _spec(spec, sources, dice)
        if idle and dice.random() < 0.15:
            spec = tick["hpaSpec"] = spec | {"minReplicas": min(dice.randint(0, 5), spec["maxReplicas"])}
        tick["pods"] = _changes(pods, t, dice)
        tick["scale"] = {"selector": draws.selector(dice)}
        if number == 0 or not follows or dice.random() < 0.1:
            tick["scale"] |= _counts(len(pods), dice, idle=idle)
        tick["metrics"] = _answers(spec, pods, tick, dice)
        if idle and dice.random() < 0.7:
            _silence(tick["metrics"])
        _trouble(tick, dice)


def _counts(pods: int, dice: random.Random, *, idle: bool) -> Json:
    """What the target wants and has: mostly as many as there are pods, else any number."""
    replicas = dice.choice([pods, pods, dice.randint(0, 30), dice.choice([0, 1, 100, 1000])])
    if idle and dice.random() < 0.7:
        replicas = 0 if dice.random() < 0.7 else 1
    return {"spec": replicas, "status": dice.choice([replicas, pods, dice.randint(0, 30)])}


def _trouble(tick: Json, dice: random.Random) -> None:
    scale = tick["scale"]
    scale.pop("updateErrors", None)
    if dice.random() < 0.06:
        scale["updateErrors"] = dice.choice(_CONFLICTS)
    if dice.random() < 0.02:
        tick["scale"] = {"error": "the server is on fire"}


def _spec(recorded: Mapping[str, Any], sources: Sequence[str], dice: random.Random) -> Json:
    count = dice.choice([1, 1, 2, 2, 3, 4])
    drawn = {**recorded, "metrics": [draws.metric(number, sources, dice) for number in range(count)]}
    draws.limits(drawn, dice)
    return drawn


def _changes(pods: dict[str, Json], t: int, dice: random.Random) -> Json:
    """Other pods at first and now and then, else another state of some; `pods` follows. None where one is gone."""
    changes: dict[str, Json | None] = {}
    if not pods or dice.random() < 0.3:
        count = dice.choice([0, 1, 2, 3, 4, 5, 7, 10, 12])
        changes = dict.fromkeys(pods) | {f"web-{index:02d}": draws.pod(t, dice) for index in range(count)}
    for name in pods:
        if name not in changes and dice.random() < 0.05:
            changes[name] = draws.pod(t, dice)
    for name, changed in changes.items():
        if changed is None:
            del pods[name]
        else:
            pods[name] = changed
    return changes


def _answers(spec: Json, pods: Mapping[str, Json], tick: Json, dice: random.Random) -> Json:
    """What the metrics APIs say: for each question mostly an answer, else an error, or none."""
    answers: Json = {}
    if dice.random() < 0.95:
        answers["resource"] = _usage(pods, tick["t"], dice)
    for metric in spec["metrics"]:
        drawn = dice.random()
        source = metric["type"].lower()
        described = metric.get(source, {})
        if "metric" not in described or drawn < 0.03:
            continue
        answer: Json = {"error": "no such metric"} if drawn < 0.06 else _answer(metric, pods, tick, dice)
        answers.setdefault(source, {})[_question(described)] = answer
    return answers


def _silence(answers: Json) -> None:
    """Nothing is to be done any more, whoever is asked."""
    for answer in answers.get("object", {}).values():
        answer |= {"value": "0"}
    for answer in answers.get("external", {}).values():
        answer |= {"values": ["0"]}


def _question(described: Json) -> str:
    name: str = described["metric"]["name"]
    about = described.get("describedObject")
    return name if about is None else f"{about['kind']}/{about['name']}/{name}"


def _answer(metric: Json, pods: Mapping[str, Json], tick: Json, dice: random.Random) -> Json:
    t = tick["t"]
    if metric["type"] == "Pods":
        return {"pods": {name: _sample(t, dice) for name in pods if dice.random() < 0.93}}
    target = metric[metric["type"].lower()]["target"]
    replicas = tick["scale"].get("status", len(pods)) if "averageValue" in target else 1
    values = [
        draws.near(target.get("averageValue") or target["value"], replicas, dice) for _ in range(dice.randint(0, 3))
    ]
    if metric["type"] == "Object":
        return {"t": t - 3, "value": values[0] if values else "0"}
    return {"t": t - 3, "values": values}


def _sample(t: int, dice: random.Random) -> Json:
    sample: Json = {"t": t - draws.age_s(dice), "value": draws.value(dice)}
    if dice.random() < 0.5:
        sample["window"] = dice.choice([0, 15, 30, 120])
    return sample


def _usage(pods: Mapping[str, Json], t: int, dice: random.Random) -> Json:
    if dice.random() < 0.04:
        return {"error": "the metrics server is down"}
    samples: Json = {}
    for name in [*pods, *(["web-gone"] if dice.random() < 0.1 else [])]:
        if dice.random() < 0.92:
            containers = pods[name]["containers"] if name in pods else [{"name": "app"}]
            usage = {
                one["name"]: {resource: draws.value(dice) for resource in ("cpu", "memory") if dice.random() < 0.97}
                for one in containers
                if dice.random() < 0.97
            }
            samples[name] = {"t": t - draws.age_s(dice), "window": dice.choice([10, 15, 30, 60]), "usage": usage}
    return {"pods": samples}
