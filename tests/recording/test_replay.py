"""What a replay makes of ticks: writes and their conflicts (§13.1), pods and answers, edited specs, other settings."""

from typing import Any

import msgspec
import pytest

from controller.decide.instants import NANOSECONDS, parse_rfc3339
from controller.decide.observed import (
    Container,
    ContainerUsage,
    ExternalReading,
    ObjectReading,
    Pod,
    PodRequests,
    PodsReading,
    PodUsage,
    ReadFailure,
    Readiness,
    Reading,
    ResourceReading,
    Sample,
)
from controller.decide.result import Decision, Path
from controller.decide.selectors import parse
from controller.decide.spec import MetricSpec
from controller.recording.format_v1 import Header, Metrics, Outcome, Tick
from controller.recording.observations import PodsSeen, readings
from controller.recording.replay import Replay
from tests.builders import (
    container_metric,
    cpu,
    external_metric,
    object_metric,
    pods_metric,
    settings,
    unknown_metric,
)
from tests.recording.recorded import HEADER, tick

START_NS = parse_rfc3339("2026-01-31T12:00:00Z")


def header(**fields: object) -> Header:
    return msgspec.convert(HEADER | fields, Header)


def step(replay: Replay, **fields: Any) -> tuple[Outcome, Decision]:
    return replay.step(msgspec.convert(tick(**fields), Tick))


def scale_of(replicas: int = 1, **fields: object) -> dict[str, object]:
    return {"spec": replicas, "status": replicas, "selector": "app=web"} | fields


CONFLICT = "conflict"

WRITES: dict[str, tuple[list[str], int | None, list[tuple[str, str]], str]] = {
    "at once": ([], 2, [("Normal", "SuccessfulRescale")], "SucceededRescale"),
    "25.6.15 one conflict": ([CONFLICT], 2, [("Normal", "SuccessfulRescale")], "SucceededRescale"),
    "four conflicts": ([CONFLICT] * 4, 2, [("Normal", "SuccessfulRescale")], "SucceededRescale"),
    "five conflicts": ([CONFLICT] * 5, None, [("Warning", "FailedRescale")], "FailedUpdateScale"),
    "refused": (["forbidden"], None, [("Warning", "FailedRescale")], "FailedUpdateScale"),
    "refused after a conflict": ([CONFLICT, "forbidden"], None, [("Warning", "FailedRescale")], "FailedUpdateScale"),
    "refused at the last attempt": (
        [CONFLICT] * 4 + ["forbidden"],
        None,
        [("Warning", "FailedRescale")],
        "FailedUpdateScale",
    ),
}


@pytest.mark.parametrize(("errors", "scaled_to", "events", "reason"), WRITES.values(), ids=WRITES)
def test_writes(errors: list[str], scaled_to: int | None, events: list[tuple[str, str]], reason: str) -> None:
    outcome, decision = step(Replay(header()), wanted=2, scale=scale_of(updateErrors=errors))
    assert decision.desired == 2
    assert (outcome.scaled_to, outcome.events) == (scaled_to, events)
    assert outcome.status["conditions"][0]["reason"] == reason
    assert outcome.status["currentReplicas"] == 1


def test_errors_of_a_write_that_is_not_made_do_not_matter() -> None:
    outcome, decision = step(Replay(header()), wanted=1, scale=scale_of(updateErrors=["forbidden"]))
    assert not decision.rescales
    assert outcome.events == []


def test_an_unreadable_scale() -> None:
    outcome, decision = step(Replay(header()), scale={"error": "gone"})
    assert decision.path is Path.SCALE_UNREADABLE
    assert outcome.events == [("Warning", "FailedGetScale")]
    assert outcome.status_writes == 1


def test_the_status_is_stored_when_it_changes() -> None:
    replay = Replay(header())
    first, _ = step(replay, t=15, wanted=1)
    second, _ = step(replay, t=30, wanted=1)
    assert (first.status_writes, second.status_writes) == (1, 0)
    assert second.status == first.status
    assert first.status["conditions"][0]["lastTransitionTime"] == "2026-01-31T12:00:15Z"
    assert all("message" not in condition for condition in first.status["conditions"])


def test_the_stored_status_of_the_header_counts() -> None:
    first, _ = step(Replay(header()), t=15, wanted=1)
    again = Replay(header(hpa=HEADER["hpa"] | {"status": {"currentReplicas": 7} | first.status}))
    outcome, _ = step(again, t=30, wanted=1)
    # The recorded status has no messages, so it is written once more; its times stay.
    assert outcome.status["conditions"] == first.status["conditions"]


def test_an_edited_spec_is_in_force_from_its_tick_on() -> None:
    replay = Replay(header())
    tighter = HEADER["hpa"]["spec"] | {"maxReplicas": 3}
    counts = [
        step(replay, t=15, wanted=4)[1].desired,
        step(replay, t=30, wanted=4, hpaSpec=tighter)[1].desired,
        step(replay, t=45, wanted=4)[1].desired,
    ]
    assert counts == [4, 3, 3]


def test_another_spec_replaces_all_recorded_ones() -> None:
    """`replay --hpa`."""
    replay = Replay(header(), spec=HEADER["hpa"]["spec"] | {"maxReplicas": 2})
    assert step(replay, t=15, wanted=4, hpaSpec=HEADER["hpa"]["spec"])[1].desired == 2


def test_other_settings_replace_the_recorded_ones() -> None:
    def decided(replay: Replay) -> int | None:
        return step(replay, wanted=11, scale=scale_of(10))[1].desired

    tight = {"tolerance": 0.05, "downscaleStabilization": 0}
    wide = header(hpa=HEADER["hpa"] | {"spec": HEADER["hpa"]["spec"] | {"maxReplicas": 50}})
    strict = header(settings=tight, hpa=wide.hpa)
    assert [decided(Replay(wide)), decided(Replay(strict)), decided(Replay(strict, settings()))] == [10, 11, 10]


# --- observations ------------------------------------------------------------------------------------

POD = {
    "phase": "Running",
    "start": -60,
    "ready": {"status": "True", "since": -50},
    "containers": [{"name": "app", "requests": {"cpu": "250m"}}],
    "initContainers": [{"name": "side", "restartPolicy": "Always"}, {"name": "init"}],
    "podRequests": {"cpu": "1"},
}
SEEN = Pod(
    name="web-1",
    labels={"app": "web"},
    phase="Running",
    requests=PodRequests(
        (Container("app", {"cpu": 250_000_000}),),
        (Container("side", {}, restartable=True), Container("init", {})),
        {"cpu": 10**9},
    ),
    started_ns=START_NS - 60 * NANOSECONDS,
    ready=Readiness("True", START_NS - 50 * NANOSECONDS),
)


def pods_after(*changes: dict[str, object]) -> PodsSeen:
    seen = PodsSeen(START_NS)
    for change in changes:
        seen.update(msgspec.convert({"t": 1, "scale": {}, "pods": change}, Tick).pods or {})
    return seen


def test_pods_are_kept_until_they_change() -> None:
    seen = pods_after({"web-1": POD, "web-0": {}}, {}, {"web-2": {"deleted": 5}, "web-0": None})
    first, second = seen.matching(parse(""))
    assert first == SEEN
    assert (second.name, second.phase, second.deleted) == ("web-2", "", True)
    assert (second.started_ns, second.ready) == (None, None)


def test_pods_are_those_that_the_selector_matches() -> None:
    seen = pods_after({"web-2": {"labels": {}}, "web-1": {}, "web-0": {"labels": {"app": "db"}}})
    assert [pod.name for pod in seen.matching(parse("app=web"))] == ["web-1"]
    assert [pod.name for pod in seen.matching(parse("app!=web"))] == ["web-0", "web-2"]


def test_an_unusable_selector_matches_nothing() -> None:
    outcome, decision = step(Replay(header()), scale=scale_of(selector="a b"), pods={"web-0": {}})
    assert decision.path is Path.SELECTOR_REFUSED
    assert ("Warning", "InvalidSelector") in outcome.events


ANSWERS = msgspec.convert(
    {
        "resource": {
            "pods": {
                "web-1": {"t": 9, "window": 30, "usage": {"app": {"cpu": "1"}}},
                "web-0": {"t": 9, "window": 30, "usage": {}},
            }
        },
        "pods": {
            "requests": {"pods": {"web-0": {"t": 9, "value": "2"}, "web-1": {"t": 9, "value": "3", "window": 0}}},
            "empty": {},
            "broken": {"error": "timeout"},
        },
        "object": {
            "Service/front/hits": {"t": 9, "value": "1500m"},
            "Service/front/broken": {"error": "timeout"},
            "Service/front/empty": {},
        },
        "external": {"backlog": {"t": 9, "values": ["1", "0.1m"]}, "empty": {}, "broken": {"error": "timeout"}},
    },
    Metrics,
)
NINE_NS = START_NS + 9 * NANOSECONDS
NOT_LISTED = ReadFailure("the recording has no answer for this metric")
TIMEOUT = ReadFailure("timeout")

READ: dict[str, tuple[MetricSpec, Reading]] = {
    "resource, in the order of names": (
        cpu(50),
        ResourceReading(
            (
                PodUsage("web-0", NINE_NS, 30 * NANOSECONDS, ()),
                PodUsage("web-1", NINE_NS, 30 * NANOSECONDS, (ContainerUsage("app", {"cpu": 1000}),)),
            )
        ),
    ),
    "25.5.4 window of a custom metric": (
        pods_metric(1),
        PodsReading({"web-0": Sample(2000, NINE_NS, 60 * NANOSECONDS), "web-1": Sample(3000, NINE_NS, 0)}),
    ),
    "pods, empty": (pods_metric(1, name="empty"), PodsReading({})),
    "pods, error": (pods_metric(1, name="broken"), TIMEOUT),
    "pods, not listed": (pods_metric(1, name="other"), NOT_LISTED),
    "object": (object_metric(value_milli=1), ObjectReading(1500, NINE_NS)),
    "object, no value": (object_metric(value_milli=1, name="empty"), ReadFailure("the answer has no value")),
    "object, error": (object_metric(value_milli=1, name="broken"), TIMEOUT),
    "object, not listed": (object_metric(value_milli=1, described=("Service", "back")), NOT_LISTED),
    "external": (external_metric(value_milli=1), ExternalReading((1000, 1), NINE_NS)),
    "external, empty": (external_metric(value_milli=1, name="empty"), ExternalReading((), START_NS)),
    "external, error": (external_metric(value_milli=1, name="broken"), TIMEOUT),
    "external, not listed": (external_metric(value_milli=1, name="other"), NOT_LISTED),
    "unknown type": (unknown_metric(), NOT_LISTED),
}


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        (cpu(50), ResourceReading(())),
        (pods_metric(1), NOT_LISTED),
        (object_metric(value_milli=1), NOT_LISTED),
        (external_metric(value_milli=1), NOT_LISTED),
    ],
)
def test_readings_where_there_are_no_answers(metric: MetricSpec, expected: Reading) -> None:
    assert readings((metric,), Metrics(), START_NS) == (expected,)


def test_an_error_of_the_resource_metrics_is_that_of_each_metric() -> None:
    answered = msgspec.convert({"resource": {"error": "timeout", "pods": {}}}, Metrics)
    assert readings((cpu(50), container_metric("app", 50)), answered, START_NS) == (TIMEOUT, TIMEOUT)


@pytest.mark.parametrize(("metric", "expected"), READ.values(), ids=READ)
def test_readings(metric: MetricSpec, expected: Reading) -> None:
    assert readings((metric,), ANSWERS, START_NS) == (expected,)
