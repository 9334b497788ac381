"""What a spec and its settings mean before anything is observed (§1, §4.6, §6.6, §12.2)."""

import pytest

from controller.decide.spec import (
    DEFAULT_METRICS,
    Autoscaler,
    Behavior,
    MetricSpec,
    Rules,
    Settings,
    Spec,
    Tolerance,
    metric_type,
    tolerance_of,
)
from tests.builders import (
    behavior,
    container_metric,
    cpu,
    external_metric,
    hpa,
    object_metric,
    pods_metric,
    rules,
    settings,
    unknown_metric,
)


def test_defaults() -> None:
    """§1.1, §1.2: the builders state them once more."""
    assert Settings() == settings()


UP, DOWN = rules(tolerance=0.01), rules(tolerance=0.5)
ZERO = rules(tolerance=0.0)

TOLERANCES: dict[str, tuple[Behavior | None, bool, tuple[float, float]]] = {
    "no behavior": (None, True, (0.2, 0.2)),
    "behavior without": (behavior(), True, (0.2, 0.2)),
    "up": (behavior(up=UP), True, (0.2, 0.01)),
    "down": (behavior(down=DOWN), True, (0.5, 0.2)),
    "both": (behavior(up=UP, down=DOWN), True, (0.5, 0.01)),
    "zero is set": (behavior(up=ZERO, down=ZERO), True, (0.0, 0.0)),
    "gate off": (behavior(up=UP, down=DOWN), False, (0.2, 0.2)),
}


@pytest.mark.parametrize(("given", "gate", "expected"), TOLERANCES.values(), ids=TOLERANCES)
def test_tolerances(given: Behavior | None, gate: bool, expected: tuple[float, float]) -> None:  # noqa: FBT001 - a table's column
    """§1.3."""
    asked = hpa(behavior=given, settings=settings(tolerance=0.2, configurable_tolerance=gate))
    assert tolerance_of(asked) == Tolerance(*expected)


@pytest.mark.parametrize(("replicas_min", "expected"), [(None, 1), (0, 0), (1, 1), (5, 5)])
def test_minimum(replicas_min: int | None, expected: int) -> None:
    """§4.6."""
    assert hpa(replicas_min=replicas_min).replicas_min == expected


def test_no_metrics_are_the_default_one() -> None:
    """§6.6."""
    plain = hpa()
    without = Autoscaler("shop", "web", Spec(plain.spec.target, 5, metrics=()))
    assert without.metrics == DEFAULT_METRICS == (cpu(80),)
    assert without.key == "shop/web"


@pytest.mark.parametrize(
    ("metric", "name", "object_or_external"),
    [
        (cpu(50), "Resource", False),
        (container_metric("app", 50), "ContainerResource", False),
        (pods_metric(1), "Pods", False),
        (object_metric(), "Object", True),
        (external_metric(), "External", True),
        (unknown_metric("Sunspots"), "Sunspots", False),
    ],
)
def test_kinds_of_metrics(metric: MetricSpec, name: str, object_or_external: bool) -> None:  # noqa: FBT001 - a table's column
    """§17.2, §12.2."""
    assert metric_type(metric) == name
    assert hpa(metric).has_object_or_external_metric() is object_or_external
    assert hpa(cpu(50), metric).has_object_or_external_metric() is object_or_external


def test_rules_of_the_api_server() -> None:
    """§21.2."""
    given = behavior()
    assert (given.scale_up.window_s, given.scale_down.window_s) == (0, None)
    assert [(policy.type, policy.value, policy.period_s) for policy in given.scale_up.policies] == [
        ("Pods", 4, 15),
        ("Percent", 100, 15),
    ]
    assert [(policy.type, policy.value, policy.period_s) for policy in given.scale_down.policies] == [
        ("Percent", 100, 15)
    ]
    assert Rules(None, ()).select == "Max"
