"""Recordings without outcomes that nobody has recorded: some bred from recorded ones, some drawn from nothing."""

from __future__ import annotations

import copy
import random
from typing import TYPE_CHECKING, Any, Final

from tests.e2e.reference import draws

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tests.e2e.reference.draws import Json

_TICKS_MAX: Final = 24
_CONFLICTS: Final = [["conflict"], ["conflict"] * 4, ["conflict"] * 5, ["refused"], ["conflict", "refused"]]


def world(recorded: Sequence[Sequence[Json]], seed: int, number: int) -> list[Json]:
    """A header and up to 24 ticks, the same ones for the same seed and number.

    Half of them are a recorded one with another clock, other settings, rules and troubles; the others have pods,
    metrics and answers of their own. A second or more is between ticks.
    """
    dice = random.Random(f"{seed} {number}")  # noqa: S311  # nothing secret
    header, *ticks = copy.deepcopy(dice.choice(recorded)[: dice.randint(3, _TICKS_MAX) + 1])
    header["name"] = f"bred-{seed}-{number}"
    header["settings"] = draws.settings(header["settings"], dice)
    for tick in ticks:
        tick.pop("outcome", None)
    if dice.random() < 0.5:
        _alter(header, ticks, dice)
    else:
        _furnish(header, ticks, dice)
    return [header, *ticks]


def _alter(header: Json, ticks: Sequence[Json], dice: random.Random) -> None:
    """Other moments, limits, scales and troubles; metrics, pods and answers are the recorded ones."""
    spec = header["hpa"]["spec"]
    draws.limits(spec, dice)
    _move(ticks, dice)
    for tick in ticks:
        if "hpaSpec" in tick:
            draws.limits(tick["hpaSpec"], dice)
        if "error" not in tick["scale"] and dice.random() < 0.1:
            tick["scale"]["spec"] = dice.randint(0, 30)
        _trouble(tick, dice)


def _furnish(header: Json, ticks: Sequence[Json], dice: random.Random) -> None:
    """Everything but the name is new. A quarter of these are about scaling to zero and back."""
    idle = dice.random() < 0.25
    if idle:
        header["settings"].setdefault("featureGates", {})["HPAScaleToZero"] = True
        header["settings"]["downscaleStabilization"] = dice.choice([1, 15, 30])
    sources = draws.SOURCES_FROM_ZERO if idle else draws.SOURCES
    spec = header["hpa"]["spec"] = _spec(header["hpa"]["spec"], sources, dice)
    pods: dict[str, Json] = {}
    _move(ticks, dice)
    for tick in ticks:
        tick.pop("hpaSpec", None)
        if dice.random() < 0.05:
            spec = tick["hpaSpec"] = _spec(spec, sources, dice)
        if idle and dice.random() < 0.15:
            spec = tick["hpaSpec"] = spec | {"minReplicas": min(dice.randint(0, 5), spec["maxReplicas"])}
        tick["pods"] = _changes(pods, tick["t"], dice)
        replicas = dice.choice([len(pods), len(pods), dice.randint(0, 30), dice.choice([0, 1, 100, 1000])])
        if idle and dice.random() < 0.7:
            replicas = 0 if dice.random() < 0.7 else 1
        status = dice.choice([replicas, len(pods), dice.randint(0, 30)])
        tick["scale"] = {"spec": replicas, "status": status, "selector": draws.selector(dice)}
        tick["metrics"] = _answers(spec, pods, tick, dice)
        if idle and dice.random() < 0.7:
            _silence(tick["metrics"])
        _trouble(tick, dice)


def _move(ticks: Sequence[Json], dice: random.Random) -> None:
    """Put ticks a little or a lot off, in their order."""
    before = 0
    for tick in ticks:
        if dice.random() < 0.3:
            tick["t"] += dice.choice([-14, -1, 0, 1, 15, 45, 285, 300, 600])
        if tick["t"] <= before:
            tick["t"] = before + dice.choice([1, 14, 15, 16])
        before = tick["t"]


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
        if metric["type"] not in ("Pods", "Object", "External") or drawn < 0.03:
            continue
        source = metric["type"].lower()
        described = metric[source]
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
    replicas = tick["scale"]["status"] if "averageValue" in target else 1
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
