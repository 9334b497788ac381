"""Scenarios of windows, policies, tolerances and bounds.

Without behavior the scale-down window is that of the flag in runner.py; where a step is not about windows, it is 0.
"""

from __future__ import annotations

from typing import Any, Final

from tests.e2e import autoscalers
from tests.e2e.side_by_side.scenario import Glimpse, Scenario, SetReplicas, Step
from tests.e2e.side_by_side.stock import AT_ONCE, QUEUE, queue


def _policies(*policies: tuple[str, int], select: str = "Max", window_s: int = 0) -> dict[str, Any]:
    """Rules of a direction whose periods outlast every scenario."""
    written = [{"type": kind, "value": value, "periodSeconds": 600} for kind, value in policies]
    return {"policies": written, "selectPolicy": select, "stabilizationWindowSeconds": window_s}


RULES: Final = [
    Scenario(
        "growth-limit",
        [QUEUE],
        [
            Step("at rest", [queue("30")]),
            Step("everything at once", [queue("5000")], hold_periods=5),
        ],
        replicas=3,
        maximum=40,
    ),
    Scenario(
        "flag-window",
        [QUEUE],
        [
            Step("six are needed", [queue("60")]),
            Step("two are needed, six are kept", [queue("20")]),
            Step("after the window", [queue("20")], hold_periods=13),
        ],
    ),
    Scenario(
        "scale-down-window",
        [QUEUE],
        [
            Step("six are needed", [queue("60")]),
            Step("two are needed, six are kept", [queue("20")]),
            Step("four are needed, six are kept", [queue("40")]),
        ],
        behavior={"scaleDown": {"stabilizationWindowSeconds": 300}},
    ),
    Scenario(
        "scale-up-window",
        [QUEUE],
        [
            Step("two are needed", [queue("20")]),
            Step("six are needed, two are kept", [queue("60")]),
            Step("after the window", [queue("60")], hold_periods=13),
        ],
        behavior={"scaleUp": {"stabilizationWindowSeconds": 12}},
    ),
    Scenario(
        "no-window-down",
        [autoscalers.external("load", value="10")],
        [Step("two are needed, at the first look only", [Glimpse("load", "3", then="10")])],
        replicas=6,
        behavior=AT_ONCE,
    ),
    Scenario(
        "no-window-up",
        [autoscalers.external("load", value="10")],
        [Step("six are needed, at the first look only", [Glimpse("load", "30", then="10")])],
        behavior=AT_ONCE,
    ),
    Scenario(
        "pods-policies",
        [QUEUE],
        [
            Step("three more may come", [queue("100")]),
            Step("two and those may go", [queue("10")]),
        ],
        replicas=4,
        behavior={"scaleUp": _policies(("Pods", 3)), "scaleDown": _policies(("Pods", 2))},
    ),
    Scenario(
        "percent-policies",
        [QUEUE],
        [
            Step("a third more may come", [queue("200")]),
            Step("half may go", [queue("10")]),
        ],
        replicas=7,
        maximum=30,
        behavior={"scaleUp": _policies(("Percent", 33)), "scaleDown": _policies(("Percent", 45))},
    ),
    Scenario(
        "smallest-policy",
        [QUEUE],
        [
            Step("the smaller way up", [queue("200")]),
            Step("the smaller way down", [queue("10")]),
        ],
        replicas=6,
        maximum=30,
        behavior={
            "scaleUp": _policies(("Percent", 100), ("Pods", 2), select="Min"),
            "scaleDown": _policies(("Percent", 50), ("Pods", 1), select="Min"),
        },
    ),
    Scenario(
        "disabled-policies",
        [QUEUE],
        [
            Step("no way down", [queue("10")]),
            Step("the way up is open", [queue("45")]),
        ],
        replicas=4,
        behavior={"scaleDown": {"selectPolicy": "Disabled", "stabilizationWindowSeconds": 0}},
    ),
    Scenario(
        "tolerance",
        [QUEUE],
        [
            Step("at the upper edge", [queue("88")]),
            Step("at the lower edge", [queue("72")]),
            Step("1.15 times the target", [queue("92")]),
            Step("0.85 times the target", [queue("85")]),
        ],
        replicas=8,
        maximum=20,
        behavior=AT_ONCE,
    ),
    Scenario(
        "tolerance-per-direction",
        [QUEUE],
        [
            Step("within on the way up", [queue("52")]),
            Step("beyond on the way up", [queue("57")]),
            Step("within on the way down", [queue("44")]),
            Step("beyond on the way down", [queue("35")]),
        ],
        replicas=4,
        behavior={
            "scaleUp": {"tolerance": "0.4"},
            "scaleDown": {"tolerance": "0.3", "stabilizationWindowSeconds": 0},
        },
    ),
    Scenario(
        "edges",
        [QUEUE],
        [
            Step("below the minimum", [queue("1")]),
            Step("above the maximum", [queue("1000")], hold_periods=4),
            Step("scaled above by hand", [SetReplicas(8)]),
            Step("scaled below by hand", [SetReplicas(1), queue("40")]),
        ],
        replicas=4,
        minimum=3,
        maximum=5,
        behavior=AT_ONCE,
    ),
]
