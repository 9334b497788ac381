"""§25.6: whole syncs, one case each or one table per number."""

import pytest
from msgspec.structs import replace

from controller.decide.observed import Reading, ScaleFailure
from controller.decide.quantity import Format, of_milli
from controller.decide.result import Path, WriteFailed
from controller.decide.spec import DEFAULT_RULES_DOWN, DEFAULT_RULES_UP, Behavior
from tests.builders import (
    behavior,
    by_percent,
    container,
    cpu,
    external_metric,
    history,
    hpa,
    now,
    observation,
    pod,
    pods,
    requests,
    resource_metric,
    rules,
    samples,
    scale,
    settings,
    status,
    unknown_metric,
    usage,
)
from tests.decide.syncs import proposal, sync


def test_25_6_1_fewer_than_the_minimum() -> None:
    outcome = sync(hpa(replicas_min=3), observation(scale(2)))
    assert outcome.conclusion.scaled_to == outcome.status.replicas_desired == 3
    assert outcome.reasons() == {"AbleToScale": ("True", "SucceededRescale")}
    assert outcome.decision.path is Path.BELOW_MIN
    assert outcome.decision.evaluation is None
    assert outcome.status.metrics == ()


def test_25_6_1_more_than_the_maximum() -> None:
    outcome = sync(hpa(replicas_max=5), observation(scale(10)))
    assert outcome.conclusion.scaled_to == outcome.status.replicas_desired == 5
    assert outcome.reasons() == {"AbleToScale": ("True", "SucceededRescale")}
    assert outcome.decision.path is Path.ABOVE_MAX
    assert outcome.decision.evaluation is None
    assert outcome.status.metrics == ()


@pytest.mark.parametrize("used_milli", [900, 100], ids=["up", "down"])
def test_25_6_2_the_last_scale_time_holds_nothing_back(used_milli: int) -> None:
    seen = observation(scale(3), usage(*[used_milli] * 3), status=status(last_scale_s=0))
    outcome = sync(hpa(cpu(50)), seen, history((1, -600)))
    assert outcome.decision.rescales
    assert outcome.status.last_scale_ns == now().wall_ns


def test_25_6_3_the_first_sync_stays_at_the_current_size() -> None:
    outcome = sync(hpa(cpu(50)), observation(scale(5), usage(*[300] * 5), status=status(current=5)))
    assert outcome.decision.evaluation is not None
    assert outcome.decision.evaluation.replicas == 3
    assert outcome.status.replicas_desired == 5
    assert outcome.conclusion.action == "none"
    assert outcome.reasons()["AbleToScale"] == ("True", "ScaleDownStabilized")
    assert outcome.events() == []


def test_25_6_4_a_recommendation_within_the_window() -> None:
    outcome = sync(hpa(cpu(50)), observation(scale(4), usage(*[200] * 4)), history((10, -600), (4, -60)))
    assert outcome.decision.evaluation is not None
    assert outcome.decision.evaluation.replicas == 2
    assert outcome.status.replicas_desired == 4
    assert outcome.reasons()["AbleToScale"] == ("True", "ScaleDownStabilized")


def test_25_6_5_an_unknown_metric_does_not_hold_back_scaling_up() -> None:
    outcome = sync(hpa(unknown_metric(), cpu(30)), observation(scale(3), samples(), usage(400, 400, 400)))
    assert outcome.conclusion.scaled_to == 4
    assert (outcome.conclusion.action, outcome.conclusion.cause) == ("scale_up", "internal")
    assert outcome.events() == ["InvalidMetricSourceType", "SuccessfulRescale"]
    assert outcome.decision.evaluation is not None
    assert [getattr(result, "cause", "none") for result in outcome.decision.evaluation.results] == ["spec", "none"]


def test_25_6_6_an_unknown_metric_holds_back_scaling_down() -> None:
    seen = observation(scale(5), samples(), usage(*[150] * 5), status=status(current=4, desired=4))
    outcome = sync(hpa(unknown_metric(), cpu(30)), seen, history((1, -600)))
    assert outcome.decision.desired is None
    assert (outcome.status.replicas_current, outcome.status.replicas_desired) == (5, 4)
    assert outcome.reasons() == {
        "AbleToScale": ("True", "SucceededGetScale"),
        "ScalingActive": ("False", "InvalidMetricSourceType"),
    }


CPU_AND_EXTERNAL = hpa(cpu(30), external_metric(value_milli=100))


def test_25_6_7_a_failing_metric_beside_one_that_scales_up() -> None:
    outcome = sync(CPU_AND_EXTERNAL, observation(scale(3), usage(400, 400, 400)))
    assert outcome.conclusion.scaled_to == 4
    assert outcome.reasons()["ScalingActive"] == ("True", "ValidMetricFound")
    assert outcome.events() == ["FailedGetExternalMetric", "SuccessfulRescale"]


def test_25_6_7_a_failing_metric_beside_one_that_would_scale_down() -> None:
    outcome = sync(CPU_AND_EXTERNAL, observation(scale(5), usage(*[150] * 5)), history((1, -600)))
    assert outcome.decision.desired is None
    assert outcome.reasons()["ScalingActive"] == ("False", "FailedGetExternalMetric")
    assert outcome.events() == ["FailedGetExternalMetric", "FailedComputeMetricsReplicas"]


def test_25_6_8_a_surge_at_target_stays() -> None:
    seen = observation(scale(4, status=5), usage(*[500] * 5), pods=pods(5))
    assert sync(hpa(cpu(50)), seen).status.replicas_desired == 4


@pytest.mark.parametrize(
    ("replicas_max", "expected", "reason"), [(100, 24, "ScaleUpLimit"), (20, 20, "TooManyReplicas")]
)
def test_25_6_9_how_far_up_at_once(replicas_max: int, expected: int, reason: str) -> None:
    steep = behavior(up=rules(by_percent(700)))
    autoscaler = hpa(cpu(10), replicas_max=replicas_max, behavior=steep)
    outcome = sync(autoscaler, observation(scale(3), usage(2000, 2000, 2000)))
    assert outcome.conclusion.scaled_to == expected
    assert outcome.reasons()["ScalingLimited"] == ("True", reason)


@pytest.mark.parametrize("gate", [False, True])
@pytest.mark.parametrize(
    ("replicas_min", "expected", "limited"),
    [(2, 2, ("True", "TooFewReplicas")), (0, 0, ("False", "DesiredWithinRange"))],
)
def test_25_6_10_no_usage(replicas_min: int, expected: int, limited: tuple[str, str], gate: bool) -> None:  # noqa: FBT001 - a table's column
    autoscaler = hpa(cpu(90), replicas_min=replicas_min, settings=settings(scale_to_zero=gate))
    outcome = sync(autoscaler, observation(scale(3), usage(0, 0, 0)), history((1, -600)))
    assert outcome.conclusion.scaled_to == expected
    assert outcome.reasons()["ScalingLimited"] == limited


@pytest.mark.parametrize(("selector", "event"), [("", "SelectorRequired"), ("cheddar cheese", "InvalidSelector")])
def test_25_6_11_a_selector_that_is_none(selector: str, event: str) -> None:
    outcome = sync(hpa(cpu(50)), observation(scale(3, selector=selector), usage(900, 900, 900)))
    assert outcome.decision.desired is None
    assert outcome.reasons() == {
        "AbleToScale": ("True", "SucceededGetScale"),
        "ScalingActive": ("False", "InvalidSelector"),
    }
    assert outcome.events() == [event, "FailedComputeMetricsReplicas"]


@pytest.mark.parametrize(
    ("overlapping", "scales"),
    [(("default/other", "default/web"), False), (("default/web",), True), ((), True)],
    ids=["another one", "only itself", "not registered"],
)
def test_25_6_12_pods_of_several_autoscalers(overlapping: tuple[str, ...], scales: bool) -> None:  # noqa: FBT001 - a table's column
    outcome = sync(hpa(cpu(50)), observation(scale(3), usage(900, 900, 900), overlapping=overlapping))
    if scales:
        assert outcome.conclusion.scaled_to == 6
    else:
        assert outcome.reasons()["ScalingActive"] == ("False", "AmbiguousSelector")
        assert outcome.events() == ["AmbiguousSelector", "FailedComputeMetricsReplicas"]


def test_25_6_13_an_unreadable_scale() -> None:
    outcome = sync(hpa(cpu(50)), observation(ScaleFailure("not found")))
    assert outcome.reasons() == {"AbleToScale": ("False", "FailedGetScale")}
    assert outcome.events() == ["FailedGetScale"]


def test_25_6_14_an_unwritable_scale() -> None:
    seen = observation(scale(3), usage(900, 900, 900), status=status(current=3, desired=3))
    outcome = sync(hpa(cpu(50)), seen, write=WriteFailed("forbidden"))
    assert outcome.reasons() == {
        "AbleToScale": ("False", "FailedUpdateScale"),
        "ScalingActive": ("True", "ValidMetricFound"),
        "ScalingLimited": ("False", "DesiredWithinRange"),
    }
    assert (outcome.status.replicas_current, outcome.status.replicas_desired) == (3, 3)
    assert outcome.events() == ["FailedRescale"]


def test_25_6_16_nothing_new_is_not_written() -> None:
    autoscaler, reading = hpa(resource_metric("memory", average_milli=100_000)), usage(102_400, resource="memory")
    first = sync(autoscaler, observation(scale(1), reading))
    assert first.conclusion.status_changed
    again = sync(autoscaler, observation(scale(1), reading, status=first.status), first.conclusion.history)
    assert not again.conclusion.status_changed
    assert again.events() == []


def test_25_6_17_text_of_a_rescale() -> None:
    outcome = sync(hpa(cpu(50)), observation(scale(1), usage(900)))
    assert [event.message for event in outcome.conclusion.events] == [
        "New size: 2; reason: cpu resource utilization (percentage of request) above target"
    ]


UNEVEN = tuple(
    pod(f"web-{index}", requests=requests(container("app", {"cpu": milli})))
    for index, milli in enumerate((900, 1000, 1100))
)
TIGHT_UP = behavior(up=replace(DEFAULT_RULES_UP, tolerance=0.01))
WIDE_DOWN = behavior(down=replace(DEFAULT_RULES_DOWN, tolerance=0.9))


@pytest.mark.parametrize(
    ("given", "gate", "reading", "expected"),
    [
        pytest.param(TIGHT_UP, True, usage(1010, 1030, 1020), 4, id="25.6.18 scaleUp 0.01"),
        pytest.param(TIGHT_UP, False, usage(1010, 1030, 1020), 3, id="25.6.18 scaleUp 0.01, gate off"),
        pytest.param(behavior(), True, usage(1010, 1030, 1020), 3, id="25.6.18 none"),
        pytest.param(WIDE_DOWN, True, usage(300, 300, 300), 3, id="25.6.18 scaleDown 0.9"),
        pytest.param(WIDE_DOWN, False, usage(300, 300, 300), 1, id="25.6.18 scaleDown 0.9, gate off"),
    ],
)
def test_tolerance_of_a_behavior(given: Behavior, gate: bool, reading: Reading, expected: int) -> None:  # noqa: FBT001 - a table's column
    autoscaler = hpa(cpu(100), behavior=given, settings=settings(configurable_tolerance=gate))
    outcome = sync(autoscaler, observation(scale(3), reading, pods=UNEVEN), history((1, -600)))
    assert outcome.status.replicas_desired == expected


@pytest.mark.parametrize(
    ("resource", "milli", "printed", "quantity_format"),
    [
        pytest.param("memory", 1000, "1", Format.BINARY_SI, id="25.6.19 memory, one unit"),
        pytest.param("memory", 1_000_000, "1k", Format.BINARY_SI, id="25.6.19 memory, a thousand units"),
        pytest.param("cpu", 100, "100m", Format.DECIMAL_SI, id="25.6.19 cpu"),
    ],
)
def test_format_of_the_status(resource: str, milli: int, printed: str, quantity_format: Format) -> None:
    reported = proposal(
        resource_metric(resource, average_milli=5), usage(milli, resource=resource), replicas=1
    ).status.average_value
    assert reported is not None
    assert (str(reported), reported.format) == (printed, quantity_format)
    assert reported == of_milli(milli)
