"""What many scenarios have in common."""

from __future__ import annotations

from typing import Final

from tests.e2e import autoscalers
from tests.e2e.side_by_side.scenario import ExternalValue

HALF_OF_CPU: Final = autoscalers.resource("cpu", averageUtilization=50)
QUEUE: Final = autoscalers.external("queue", averageValue="10")
SERVICE: Final = {"apiVersion": "v1", "kind": "Service", "name": "front"}
AT_ONCE: Final = {"scaleDown": {"stabilizationWindowSeconds": 0}}


def queue(value: str) -> ExternalValue:
    """The value of QUEUE's metric from now on."""
    return ExternalValue("queue", [value])
