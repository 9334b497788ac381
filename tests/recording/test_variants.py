"""Settings that replace recorded ones (`replay --set`), and a replayed sync in one line."""

import pytest
from msgspec.structs import replace

from controller.decide.decision import decide
from controller.decide.observed import Observation, ScaleFailure
from controller.decide.result import Decision
from controller.decide.spec import Autoscaler, Gates
from controller.decide.spec import Settings as Decided
from controller.recording import timeline, variants
from controller.recording.format_v1 import Settings
from controller.recording.replay import settings_of
from tests.builders import (
    behavior,
    by_percent,
    condition,
    cpu,
    external_metric,
    history,
    hpa,
    now,
    object_metric,
    observation,
    rules,
    scale,
    settings,
    status,
    usage,
    value,
)

RECORDED = settings(
    tolerance=0.2,
    downscale_stabilization_s=60,
    cpu_initialization_period_s=30,
    initial_readiness_delay_s=10,
    pod_level_resources=False,
)
S = 10**9

VARIED: dict[str, tuple[list[str], Decided]] = {
    "nothing": ([], RECORDED),
    "tolerance": (["tolerance=0.05"], replace(RECORDED, tolerance=0.05)),
    "durations": (
        ["downscaleStabilization=5m", "cpuInitializationPeriod=0", "initialReadinessDelay=1m30.5s"],
        replace(
            RECORDED,
            downscale_stabilization_ns=300 * S,
            cpu_initialization_period_ns=0,
            initial_readiness_delay_ns=90 * S + S // 2,
        ),
    ),
    "gates": (
        ["HPAScaleToZero=true", "PodLevelResources=TRUE"],
        replace(RECORDED, gates=Gates(scale_to_zero=True, pod_level_resources=True)),
    ),
    "the last one counts": (["tolerance=0", "tolerance=1"], replace(RECORDED, tolerance=1.0)),
}


@pytest.mark.parametrize(("assignments", "expected"), VARIED.values(), ids=VARIED)
def test_varied(assignments: list[str], expected: Decided) -> None:
    assert variants.varied(RECORDED, assignments) == expected


REFUSED = {
    "tolerance": "'tolerance' is not NAME=VALUE with one of tolerance, downscaleStabilization, cpuInitializationPeriod",
    "=5": "'=5' is not NAME=VALUE",
    "speed=5": "'speed=5' is not NAME=VALUE",
    "tolerance=some": "'tolerance=some': 'some' is not a finite number from 0 on, such as 0.1",
    "downscaleStabilization=5": "'downscaleStabilization=5': '5' is not a duration such as 30s, 1m30s or 500ms",
    "tolerance=nan": "'tolerance=nan': 'nan' is not a finite number from 0 on, such as 0.1",
    "tolerance=inf": "'tolerance=inf': 'inf' is not a finite number from 0 on, such as 0.1",
    "tolerance=-0.1": "'tolerance=-0.1': '-0.1' is not a finite number from 0 on, such as 0.1",
    "downscaleStabilization=-5s": "'downscaleStabilization=-5s': '-5s' is not a duration from 0s on, such as 300s",
    "HPAScaleToZero=on": "'HPAScaleToZero=on': 'on' is not true or false",
}


@pytest.mark.parametrize("assignment", REFUSED)
def test_refused(assignment: str) -> None:
    with pytest.raises(variants.VariantError) as raised:
        variants.varied(RECORDED, [assignment])
    assert str(raised.value).startswith(REFUSED[assignment])


def test_settings_of_a_recording() -> None:
    assert settings_of(Settings()) == settings()
    assert settings_of(Settings(15, 0.2, 60, 30, 10, {"HPAScaleToZero": True, "Other": True})) == settings(
        tolerance=0.2,
        downscale_stabilization_s=60,
        cpu_initialization_period_s=30,
        initial_readiness_delay_s=10,
        scale_to_zero=True,
    )
    off = Settings(feature_gates={"PodLevelResources": False, "HPAConfigurableTolerance": False})
    assert settings_of(off) == settings(pod_level_resources=False, configurable_tolerance=False)


def decided(asked: Autoscaler, seen: Observation, *past: tuple[int, float]) -> Decision:
    return decide(asked, seen, history(*past), now())


NAME = "cpu resource utilization (percentage of request)"
CPU = hpa(cpu(50))
ZERO = hpa(
    object_metric(value_milli=1000),
    replicas_min=2,
    behavior=behavior(up=rules(by_percent(100))),
    settings=settings(scale_to_zero=True),
)

WHY: dict[str, tuple[Decision, str]] = {
    "unreadable": (decided(CPU, observation(ScaleFailure("gone"))), "the scale of the target cannot be read: gone"),
    "paused": (decided(CPU, observation(scale(0))), "zero replicas, taken for a pause"),
    "above the maximum": (decided(CPU, observation(scale(11))), "more replicas than the maximum"),
    "undecided": (
        decided(hpa(object_metric()), observation(scale(3), value(1))),
        (
            "failing metrics forbid a decision; "
            "failed: invalid target: neither a value target nor an average value target"
        ),
    ),
    "metrics": (decided(CPU, observation(scale(2), usage(500, 500))), f"metrics want 2 ({NAME})"),
    "stabilized": (
        decided(CPU, observation(scale(2), usage(50, 50)), (9, -5)),
        f"metrics want 1 ({NAME}); ScaleDownStabilized at 9; ScaleUpLimit at 4",
    ),
    "limited": (
        decided(hpa(cpu(50), behavior=behavior()), observation(scale(1), usage(50_000))),
        f"metrics want 100 ({NAME}); ScaleUpLimit at 5",
    ),
    "lifted": (
        decided(ZERO, observation(scale(0), value(5000), status=status(condition("ScaledToZero")))),
        "metrics want 5 (Service metric hits); ScaleUpLimit at 0; lifted from zero to the minimum 2",
    ),
    "partly failed": (
        decided(hpa(cpu(50), external_metric()), observation(scale(1), usage(500))),
        f"metrics want 1 ({NAME}); failed: invalid target: neither a value nor an average value is set",
    ),
}


@pytest.mark.parametrize(("decision", "expected"), WHY.values(), ids=WHY)
def test_why(decision: Decision, expected: str) -> None:
    assert timeline.why(decision) == expected


def test_line() -> None:
    up, steady = WHY["limited"][0], WHY["metrics"][0]
    assert timeline.line(15, 5, up).startswith("     15 s  1 → 5         metrics want 100 ")
    assert timeline.line(15, None, up).startswith("     15 s  1 ✗ 5         metrics want 100 ")
    assert timeline.line(15, None, steady).startswith("     15 s  2             metrics want 2 ")
    assert timeline.line(15.04, None, WHY["unreadable"][0]).startswith("   15.0 s  ?             the scale ")
    assert timeline.line(15, 5, up, "shop/web").startswith("     15 s  shop/web                 1 → 5         metrics ")


@pytest.mark.parametrize(
    ("replicas", "scaled_to", "drawn"),
    [
        (3, None, "███"),
        (3, 5, "███▒▒"),
        (5, 3, "███··"),
        (0, 2, "▒▒"),
        (24, None, "█" * 24),
        (25, None, "█" * 23 + "…"),
        (20, 60, "█" * 20 + "▒▒▒…"),
        (60, 20, "█" * 20 + "···…"),
        (0, None, ""),
    ],
)
def test_bar(replicas: int, scaled_to: int | None, drawn: str) -> None:
    assert timeline.bar(replicas, scaled_to) == drawn


def test_line_with_a_bar() -> None:
    up = WHY["limited"][0]
    assert timeline.line(15, 5, up, bars=True).startswith("     15 s  1 → 5         █▒▒▒▒                    metrics ")
    unreadable = WHY["unreadable"][0]
    assert timeline.line(15, None, unreadable, bars=True).startswith(f"     15 s  ?{' ' * 38}the scale ")
