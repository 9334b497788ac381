"""What would have been decided on a recording of version 2: under other settings, or for another spec."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from controller.decide.observed import ReadFailure, Reading
from controller.decide.result import Path as DecisionPath
from controller.decide.spec import Behavior, MetricSpec, Reference, Spec
from controller.recording.check import check_file
from controller.recording.lines import RecordingError
from controller.recording.live import NOT_RECORDED, answers
from controller.recording.variants import AS_RECORDED, Variant
from tests.builders import (
    behavior,
    by_pods,
    container_metric,
    cpu,
    external_metric,
    hpa,
    label_selector,
    object_metric,
    observation,
    pods_metric,
    resource_metric,
    rules,
    samples,
    scale,
    series,
    settings,
    status,
    unknown_metric,
    usage,
    value,
)
from tests.recording.lived import (
    CPU,
    GOOD,
    LINES,
    WINDOWLESS,
    altered,
    decisions,
    desired,
    frames,
    header,
    parts,
    ticks,
    written,
)


def test_a_variant_remembers_what_it_decided_itself(tmp_path: Path) -> None:
    """With a window, the high recommendations of the beginning hold; without, the fall is followed at once."""
    found = desired(written(tmp_path / "run.jsonl"), variant=WINDOWLESS)
    assert found == [(2, 2), (3, 3), (4, 4), (4, 4), (4, 2), (4, 1), (4, 1), (2, 1)]
    outcomes = [frame.moments[0].outcome for frame in frames(tmp_path / "run.jsonl", variants=(WINDOWLESS,))]
    scaled = [outcome.scaled_to for outcome in outcomes if outcome is not None]
    assert scaled == [None, 3, 4, None, 2, 1, 1, 1], "also where none was written"


def test_a_variant_begins_anew_where_the_controller_did(tmp_path: Path) -> None:
    """After a time without the Lease, nothing is remembered."""
    again = ticks(CPU, [observation(scale(3), usage(100, 100, 100))] * 2, first_s=122)
    path = written(tmp_path / "twice.jsonl", b"".join((header(CPU), *LINES[:4], *again)))
    longer = Variant("longer", ("downscaleStabilization=10m",))
    assert desired(path, variant=longer)[-2:] == [(3, 3)] * 2
    assert check_file(path).differing == 0


def test_a_status_that_comes_back_in_another_form_is_the_same(tmp_path: Path) -> None:
    """Nothing is written then, so the outcome has it as it is stored."""
    steady = hpa(resource_metric("memory", average_milli=100_000_000_000))
    lines = ticks(steady, [observation(scale(1), usage(100_000_000_000, resource="memory"))] * 4)
    path = written(tmp_path / "steady.jsonl", b"".join((header(steady), *lines)))
    outcomes = [msgspec.json.decode(line)["outcome"] for line in lines]
    assert [outcome["statusWrites"] for outcome in outcomes] == [1, 0, 0, 0]
    stored = [outcome["status"]["currentMetrics"][0]["resource"]["current"]["averageValue"] for outcome in outcomes]
    assert stored == ["100000000", "100M", "100M", "100M"]
    assert check_file(path).differing == 0
    assert check_file(path, Variant("unchanged")).differing == 0


def test_what_the_first_sync_began_with_is_recorded_with_its_time(tmp_path: Path) -> None:
    """It is out of a window of 0 (§4.5)."""
    at_once = hpa(cpu(50), settings=settings(downscale_stabilization_s=0))
    lines = ticks(at_once, [observation(scale(5), usage(*[300] * 5), read_s=-0.001)])
    path = written(tmp_path / "first.jsonl", b"".join((header(at_once), *lines)))
    assert check_file(path).differing == 0
    assert desired(path, variant=Variant("unchanged")) == [(3, 3)]


def test_a_variant_that_changes_nothing_decides_the_same(tmp_path: Path) -> None:
    """From its own memories; also where a status could not be stored, and the next sync found the old one."""
    path = written(tmp_path / "run.jsonl")
    assert check_file(path, Variant("unchanged")).differing == 0
    at_once = settings(scale_to_zero=True, downscale_stabilization_s=0)
    zero = hpa(external_metric(average_milli=1000), replicas_min=0, settings=at_once)
    falls, stays = observation(scale(1), series(0)), observation(scale(0), series(0))
    begun = ticks(zero, [falls, falls])
    # The status that says who has scaled to zero is lost: the next sync takes the target for paused.
    [lost] = ticks(zero, [stays], first_s=30.5)
    lost = altered(lost, history=msgspec.json.decode(begun[1])["history"])
    path = written(tmp_path / "zero.jsonl", b"".join((header(zero), *begun, lost)))
    paths = [(recorded.path, unchanged.path) for recorded, unchanged in decisions(path, variant=Variant("unchanged"))]
    assert paths == [(DecisionPath.METRICS,) * 2, (DecisionPath.METRICS,) * 2, (DecisionPath.PAUSED,) * 2]
    assert desired(path, variant=Variant("unchanged")) == [(1, 1), (0, 0), (0, 0)]


def test_a_variant_begins_in_the_middle_of_a_run_with_what_was_remembered(tmp_path: Path) -> None:
    """The oldest files are deleted to make room."""
    _, two, three = parts(tmp_path)
    assert desired(two, three, variant=Variant("unchanged")) == [(4, 4)] * 4 + [(2, 2)]


def test_a_variant_has_the_status_that_it_would_have_stored(tmp_path: Path) -> None:
    """With another minimum it has not scaled to zero itself, so zero replicas are a pause (§12.3)."""
    at_once = settings(scale_to_zero=True, downscale_stabilization_s=0)
    zero = hpa(external_metric(average_milli=1000), replicas_min=0, settings=at_once)
    seen = [observation(scale(replicas), series(0)) for replicas in (1, 1, 0)]
    path = written(tmp_path / "zero.jsonl", b"".join((header(zero), *ticks(zero, seen))))
    variant = Variant("another minimum", spec=external_spec("backlog") | {"minReplicas": 1})
    assert [(recorded.path, other.path) for recorded, other in decisions(path, variant=variant)] == [
        (DecisionPath.METRICS, DecisionPath.METRICS),
        (DecisionPath.METRICS, DecisionPath.METRICS),
        (DecisionPath.METRICS, DecisionPath.PAUSED),
    ]


def pods_in(value: int, period_s: int) -> dict[str, Any]:
    """A policy as JSON."""
    return {"type": "Pods", "value": value, "periodSeconds": period_s}


def cpu_spec(**behavior: Any) -> dict[str, Any]:
    """A spec with a behavior, as JSON."""
    target = {"type": "Utilization", "averageUtilization": 50}
    return {
        "scaleTargetRef": {"kind": "Deployment", "name": "web"},
        "maxReplicas": 20,
        "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": target}}],
        "behavior": behavior,
    }


STEPS = behavior(up=rules(by_pods(3)), down=rules(by_pods(1)))
"""Three pods more a minute, one less."""


def test_a_variant_is_held_by_the_rescales_that_were_recorded(tmp_path: Path) -> None:
    """§11.5: what comes within the period of a policy counts, whatever the variant would have made of it."""
    stepping = hpa(cpu(50), replicas_max=20, behavior=STEPS)
    seen = [observation(scale(replicas), usage(*[900] * replicas)) for replicas in (2, 4, 5, 5, 5)]
    path = written(tmp_path / "steps.jsonl", b"".join((header(stepping), *ticks(stepping, seen))))
    assert check_file(path, Variant("unchanged")).differing == 0
    assert [recorded for recorded, _ in desired(path, variant=AS_RECORDED)] == [4, 5, 5, 5, 7], "three more a minute"


def test_a_variant_with_policies_remembers_what_was_scaled_without_them(tmp_path: Path) -> None:
    """§11.6: the recorded HPA had no behavior, so it remembered no rescale."""
    plain = hpa(cpu(50), replicas_max=20)
    seen = [observation(scale(replicas), usage(*[900] * replicas)) for replicas in (2, 4, 4)]
    path = written(tmp_path / "plain.jsonl", b"".join((header(plain), *ticks(plain, seen))))
    spec = cpu_spec(scaleUp={"policies": [pods_in(3, 60)]})
    found = desired(path, variant=Variant("with policies", spec=spec))
    assert found == [(4, 4), (8, 5), (8, 4)], "after 2 to 4 there is one to come, after 4 to 8 none"


# The behavior that was recorded, replicas and what each uses, the variant's, and what was wanted by both.
LONGER: dict[str, tuple[Behavior, tuple[int, ...], int, dict[str, Any], list[tuple[int, int]]]] = {
    "one less in 15 s, three in five minutes": (
        behavior(down=rules(by_pods(1, 15))),
        (9, 8, 7, 6, 5),
        100,
        {"scaleDown": {"stabilizationWindowSeconds": 0, "policies": [pods_in(3, 300)]}},
        [(8, 6), (7, 6), (6, 6), (5, 6), (4, 5)],
    ),
    "two more in 15 s, five in five minutes": (
        behavior(up=rules(by_pods(2, 15))),
        (1, 3, 5, 7),
        2000,
        {"scaleUp": {"policies": [pods_in(5, 300)]}},
        [(3, 4), (5, 6), (7, 6), (9, 7)],
    ),
}


@pytest.mark.parametrize("lost", [None, 1, 2])
@pytest.mark.parametrize("way", LONGER)
def test_a_variant_with_longer_periods_remembers_rescales_for_as_long(
    tmp_path: Path, way: str, lost: int | None
) -> None:
    """§11.6: the recorded HPA has kept the last of its rescales only. Lines may be lost, too."""
    recorded, replicas, milli, other, expected = LONGER[way]
    asked = hpa(cpu(50), behavior=recorded)
    seen = [observation(scale(count), usage(*[milli] * count)) for count in replicas]
    lines = [line for number, line in enumerate(ticks(asked, seen)) if number != lost]
    path = written(tmp_path / "stepping.jsonl", b"".join((header(asked), *lines)))
    found = desired(path, variant=Variant(way, spec=cpu_spec(**other)))
    assert found == [wanted for number, wanted in enumerate(expected) if number != lost]


def test_a_variant_of_what_was_withheld_writes_nothing_and_finds_what_others_stored(tmp_path: Path) -> None:
    """In shadow the status is that of the controller in charge."""
    found = status(current=2, desired=2), status(current=2, desired=7)
    seen = [
        observation(scale(2), usage(900, 900), status=found[0]),
        observation(scale(2), ReadFailure("it is down"), status=found[1]),
    ]
    path = written(tmp_path / "shadow.jsonl", b"".join((header(CPU), *ticks(CPU, seen, withheld="shadow"))))
    for variant in (AS_RECORDED, Variant("unchanged")):
        assert check_file(path, variant).differing == 0, variant.label
    first, second = (frame.moments[0].outcome for frame in frames(path, variants=(Variant("unchanged"),)))
    assert first is not None
    assert second is not None
    assert (first.scaled_to, second.status["desiredReplicas"]) == (None, 7)


def test_a_spec_that_cannot_be_decided_on_is_named(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match=r"^odd: Object missing required field `scaleTargetRef`"):
        frames(written(tmp_path / "run.jsonl"), variants=(Variant("odd", spec={}),))


def external_spec(name: str) -> dict[str, Any]:
    target = {"type": "AverageValue", "averageValue": "1"}
    return {
        "scaleTargetRef": {"kind": "Deployment", "name": "web"},
        "maxReplicas": 10,
        "metrics": [{"type": "External", "external": {"metric": {"name": name}, "target": target}}],
    }


def test_another_spec_finds_the_answers_to_its_questions(tmp_path: Path) -> None:
    both = hpa(cpu(50), external_metric(average_milli=9000))
    seen = observation(scale(2), usage(500, 500), series(6000))
    path = written(tmp_path / "both.jsonl", b"".join((header(both), *ticks(both, [seen]))))
    assert desired(path, variant=Variant("other", spec=external_spec("backlog"))) == [(2, 4)]
    [frame] = frames(path, variants=(Variant("unasked", spec=external_spec("other")),))
    assert frame.moments[0].decision.desired is None
    assert "the recording has no answer for this metric" in (frame.moments[0].decision.error or "")


def test_a_variant_goes_on_from_a_history_that_was_taken_up(tmp_path: Path) -> None:
    """In the middle of a run, as after a gap in leadership: it is not what the tick before has left."""
    header_line, *lines = GOOD.splitlines(keepends=True)
    held = {"recommendations": [{"replicas": 9, "at_ns": msgspec.json.decode(lines[-1])["now"]["monotonic_ns"]}]}
    last = altered(lines[-1], history=held, taken_up=True)
    path = written(tmp_path / "taken-up.jsonl", b"".join([header_line, *lines[:-1], last]))
    recorded, varied = desired(path, variant=Variant("unchanged"))[-1]
    assert recorded == varied
    path = written(tmp_path / "gone-on.jsonl", b"".join([header_line, *lines[:-1], altered(lines[-1], history=held)]))
    recorded, varied = desired(path, variant=Variant("unchanged"))[-1]
    assert recorded != varied, "without the mark the memory of the variant counts"


# --- the answers to another spec's questions -------------------------------------------------------

BROKEN = ReadFailure("it is broken")
ANSWERED: tuple[tuple[MetricSpec, Reading], ...] = (
    (cpu(50), usage(500)),
    (pods_metric(1000), samples(700)),
    (object_metric(value_milli=1000), value(800)),
    (external_metric(value_milli=1000), series(900)),
    (pods_metric(1000, name="broken"), BROKEN),
    (unknown_metric(), ReadFailure("no such type")),
)


def spec_of(*metrics: MetricSpec) -> Spec:
    return Spec(Reference("Deployment", "web"), 10, metrics=metrics)


ASKED: dict[str, tuple[MetricSpec, Reading]] = {
    "another resource": (resource_metric("memory", 50), usage(500)),
    "of a container": (container_metric("app", 50), usage(500)),
    "pods": (pods_metric(3000), samples(700)),
    "pods, another name": (pods_metric(1000, name="hits"), NOT_RECORDED),
    "pods, a selector": (pods_metric(1000, selector=label_selector({"a": "b"})), NOT_RECORDED),
    "pods, failed": (pods_metric(3000, name="broken"), BROKEN),
    "object": (object_metric(average_milli=3000), value(800)),
    "object, another name": (object_metric(value_milli=1000, name="backlog"), NOT_RECORDED),
    "object, another one": (object_metric(value_milli=1000, described=("Service", "back")), NOT_RECORDED),
    "object, another kind": (object_metric(value_milli=1000, described=("Ingress", "front")), NOT_RECORDED),
    "external": (external_metric(average_milli=3000), series(900)),
    "external, another name": (external_metric(value_milli=1000, name="requests"), NOT_RECORDED),
    "unknown": (unknown_metric(), ReadFailure("no such type")),
    "unknown, another type": (unknown_metric("Eclipses"), NOT_RECORDED),
}


@pytest.mark.parametrize(("metric", "expected"), ASKED.values(), ids=ASKED)
def test_an_answer_is_that_to_the_same_question(metric: MetricSpec, expected: Reading) -> None:
    metrics, readings = zip(*ANSWERED, strict=True)
    assert answers(spec_of(*metrics), readings, spec_of(metric)) == (expected,)


def test_answers_are_in_the_order_of_the_questions() -> None:
    metrics, readings = zip(*ANSWERED, strict=True)
    assert answers(spec_of(*metrics), readings, spec_of(*reversed(metrics))) == readings[::-1]


def test_without_metrics_the_question_is_the_default_one() -> None:
    """§6.6."""
    assert answers(spec_of(), (usage(500),), spec_of()) == (usage(500),)


@pytest.mark.parametrize("metric", [metric for metric, _ in ANSWERED[:4]], ids=lambda metric: type(metric).__name__)
def test_an_answer_of_another_kind_is_none(metric: MetricSpec) -> None:
    """A recording that somebody has edited may have one."""
    for other, reading in ANSWERED[:4]:
        expected = reading if other == metric else NOT_RECORDED
        assert answers(spec_of(metric), (reading,), spec_of(metric)) == (expected,)
