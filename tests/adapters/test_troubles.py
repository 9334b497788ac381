"""Which HPAs have series for alerts, and what those say."""

import pytest
from msgspec.structs import replace
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.registry import Collector

from controller.decide.decision import conclude, decide
from controller.decide.instants import ZERO_TIME_NS
from controller.decide.observed import Observation, ReadFailure, Reading, ScaleFailure
from controller.decide.result import Write, WriteFailed, Written
from controller.decide.spec import Autoscaler
from controller.decide.status import Status
from controller.ports import Sync, WatchedAutoscaler
from controller.telemetry.troubles import Troubles
from tests import builders

TARGET = builders.cpu(average_milli=100)


def watched(autoscaler: Autoscaler, name: str = "web") -> WatchedAutoscaler:
    return WatchedAutoscaler("shop", name, "uid", "1", autoscaler.spec, Status())


def sync(
    observation: Observation, *, bounds: tuple[int | None, int] = (1, 10), write: Write | None = None, name: str = "web"
) -> Sync:
    autoscaler = builders.hpa(TARGET, replicas_min=bounds[0], replicas_max=bounds[1])
    past, now = builders.history((1, -900)), builders.now()
    decision = decide(autoscaler, observation, past, now)
    answer = (write or Written()) if decision.rescales else None
    conclusion = conclude(autoscaler, observation.status, decision, answer, now)
    return Sync(watched(autoscaler, name), observation, past, now, decision, answer, conclusion, now)


def seen(replicas: int, reading: Reading) -> Observation:
    return builders.observation(builders.scale(replicas), reading)


def using(replicas: int, each_milli: int) -> Observation:
    return seen(replicas, builders.usage(*[each_milli] * replicas))


class Shown(Collector):
    def __init__(self, troubles: Troubles, *, syncing: bool) -> None:
        self.troubles, self.syncing = troubles, syncing

    def collect(self):  # type: ignore[no-untyped-def]  # noqa: ANN201 - the library's shape
        return self.troubles.families(syncing=self.syncing)


def shown(troubles: Troubles, *, syncing: bool = True) -> dict[str, float]:
    """Every series and its value."""
    registry = CollectorRegistry()
    registry.register(Shown(troubles, syncing=syncing))
    lines = generate_latest(registry).decode().splitlines()
    pairs = (line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    return {series: float(value) for series, value in pairs}


def test_a_healthy_hpa_has_no_series() -> None:
    troubles = Troubles()
    troubles(sync(using(3, 100)))
    assert shown(troubles) == {}


@pytest.mark.parametrize(
    ("observation", "condition", "reason"),
    [
        (seen(3, ReadFailure("no metrics")), "ScalingActive", "FailedGetResourceMetric"),
        (builders.observation(ScaleFailure("gone")), "AbleToScale", "FailedGetScale"),
        (builders.observation(builders.scale(0)), "ScalingActive", "ScalingDisabled"),
    ],
)
def test_one_that_cannot_scale_tells_why_until_it_can(observation: Observation, condition: str, reason: str) -> None:
    troubles = Troubles()
    troubles(sync(observation))
    labels = f'condition="{condition}",hpa_name="web",namespace="shop",reason="{reason}"'
    assert shown(troubles) == {f"hpa_controller_inactive{{{labels}}}": 1}
    troubles(sync(using(3, 100)))
    assert shown(troubles) == {}


def test_one_that_is_not_understood_any_more_cannot_scale_either() -> None:
    """It is not synced, so what its last sync has shown is as good as nothing."""
    troubles = Troubles()
    troubles(sync(using(3, 200), bounds=(1, 3)))
    assert [name for name in shown(troubles) if "held_at_max" in name]
    healthy = sync(using(3, 100)).autoscaler
    troubles.changed(healthy, replace(healthy, problem="spec.maxReplicas is missing"))
    labels = 'condition="AbleToScale",hpa_name="web",namespace="shop",reason="NotUnderstood"'
    assert {name: value for name, value in shown(troubles).items() if "rescales" not in name} == {
        f"hpa_controller_inactive{{{labels}}}": 1
    }
    troubles(sync(using(3, 100)))
    assert [name for name in shown(troubles) if "inactive" in name] == []


def test_a_scale_that_cannot_be_written_counts_as_unable_and_not_as_a_rescale() -> None:
    troubles = Troubles()
    troubles(sync(using(3, 200), write=WriteFailed("forbidden")))
    assert [name for name in shown(troubles) if "inactive" not in name] == []
    assert "FailedUpdateScale" in next(iter(shown(troubles)))


@pytest.mark.parametrize(
    ("bounds", "each_milli", "held"),
    [
        ((1, 3), 200, 1),
        ((3, 3), 200, None),
        ((1, 6), 200, None),
        ((1, 9), 200, None),
        ((None, 3), 200, 1),
        ((3, 9), 50, None),
    ],
)
def test_held_at_max_is_one_that_wants_more_and_could_have_less(
    bounds: tuple[int | None, int], each_milli: int, held: int | None
) -> None:
    troubles = Troubles()
    troubles(sync(using(3, each_milli), bounds=bounds))
    assert shown(troubles).get('hpa_controller_held_at_max{hpa_name="web",namespace="shop"}') == held


def test_who_sets_no_minimum_has_one_of_one() -> None:
    troubles = Troubles()
    troubles(sync(using(2, 200), bounds=(None, 2)))
    assert [name for name in shown(troubles) if "held_at_max" in name]
    troubles(sync(using(1, 200), bounds=(None, 1)))
    assert not [name for name in shown(troubles) if "held_at_max" in name]


def test_nobody_wants_more_whose_target_was_set_to_zero_meanwhile() -> None:
    stored = builders.status(builders.condition("ScalingLimited", reason="TooManyReplicas"))
    troubles = Troubles()
    troubles(sync(builders.observation(builders.scale(0), status=stored), bounds=(1, 3)))
    assert not [name for name in shown(troubles) if "held_at_max" in name]
    failing = builders.observation(builders.scale(3), ReadFailure("no metrics"), status=stored)
    troubles(sync(failing, bounds=(1, 3)))
    assert [name for name in shown(troubles) if "held_at_max" in name], "until a metric says otherwise"


def test_old_metrics_are_told_of_with_their_age() -> None:
    troubles = Troubles()
    troubles(sync(seen(2, builders.usage(100, 100, at_s=-120))))
    assert shown(troubles) == {}
    troubles(sync(seen(2, builders.usage(100, 100, at_s=-121))))
    assert shown(troubles) == {'hpa_controller_stale_metric_age_seconds{hpa_name="web",namespace="shop"}': 121}


@pytest.mark.parametrize("undated", [(), ("web-0", "web-1")], ids=["no timestamp", "timestamps of the answer"])
def test_of_metrics_without_a_timestamp_no_age_is_told(undated: tuple[str, ...]) -> None:
    usage = builders.usage(100, 100, at_s=-400)
    items = usage.items if undated else tuple(replace(item, timestamp_ns=ZERO_TIME_NS) for item in usage.items)
    troubles = Troubles()
    troubles(sync(seen(2, replace(usage, items=items, undated=undated))))
    assert shown(troubles) == {}


def test_rescales_and_turns_are_counted() -> None:
    troubles = Troubles()
    for replicas, each in ((2, 200), (4, 200), (8, 50), (4, 50), (2, 200)):
        troubles(sync(using(replicas, each)))
    place = 'hpa_name="web",namespace="shop"'
    assert {name: value for name, value in shown(troubles).items() if "_re" in name} == {
        f'hpa_controller_rescales_total{{direction="up",{place}}}': 3,
        f'hpa_controller_rescales_total{{direction="down",{place}}}': 2,
        f"hpa_controller_reversals_total{{{place}}}": 2,
    }


def test_going_on_in_the_same_direction_is_no_turn() -> None:
    troubles = Troubles()
    for replicas, each in ((1, 200), (2, 200), (4, 200), (8, 50)):
        troubles(sync(using(replicas, each)))
    assert shown(troubles)['hpa_controller_reversals_total{hpa_name="web",namespace="shop"}'] == 1


def test_a_metric_is_as_old_as_its_newest_sample_and_the_oldest_metric_counts() -> None:
    old, new = builders.usage(100, 100, at_s=-400), builders.usage(100, 100, at_s=-10)
    troubles = Troubles()
    troubles(sync(seen(2, replace(old, items=(old.items[0], new.items[1])))))
    assert shown(troubles) == {}
    troubles(sync(builders.observation(builders.scale(2), new, old)))
    assert shown(troubles) == {'hpa_controller_stale_metric_age_seconds{hpa_name="web",namespace="shop"}': 400}


def test_of_one_that_can_do_neither_it_is_told_that_it_cannot_be_scaled() -> None:
    stored = builders.status(builders.condition("ScalingActive", "False", reason="FailedGetResourceMetric"))
    troubles = Troubles()
    troubles(sync(builders.observation(ScaleFailure("gone"), status=stored)))
    [series] = shown(troubles)
    assert 'condition="AbleToScale"' in series


def test_an_instance_that_does_not_sync_keeps_its_counters_and_tells_no_states() -> None:
    troubles = Troubles()
    troubles(sync(using(3, 200), bounds=(1, 3)))
    troubles(sync(using(3, 200), name="api"))
    assert {name.partition("{")[0] for name in shown(troubles, syncing=False)} == {
        "hpa_controller_rescales_total",
        "hpa_controller_reversals_total",
    }


def test_a_deleted_hpa_is_forgotten() -> None:
    troubles = Troubles()
    last = sync(using(3, 200), bounds=(1, 5))
    troubles(last)
    assert shown(troubles)
    troubles.changed(last.autoscaler, last.autoscaler)
    assert shown(troubles)
    for gone_for in (None, replace(last.autoscaler, uid="another, made anew under its name")):
        troubles(last)
        troubles.changed(last.autoscaler, gone_for)
        assert shown(troubles) == {}
