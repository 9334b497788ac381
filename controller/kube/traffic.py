"""Kinds of requests to the API server: how many of each at once, and which of them a client-side limit is for."""

import enum
from collections.abc import Callable
from typing import Final

from controller.kube.budget import Budget, Lane


class Traffic(enum.StrEnum):
    """Kinds of requests, each with its own lane so that none waits for another."""

    LIST = "list"
    DISCOVERY = "discovery"
    SCALE = "scale"
    CUSTOM_SCALE = "custom-scale"
    """Reads of the scales of custom resources: behind them may be a conversion webhook that hangs."""
    STATUS = "status"
    EVENT = "event"
    LEASE = "lease"
    RESOURCE_METRICS = "resource-metrics"
    CUSTOM_METRICS = "custom-metrics"
    EXTERNAL_METRICS = "external-metrics"
    REVIEW = "review"
    HISTORY = "history"


METRICS: Final = {Traffic.RESOURCE_METRICS, Traffic.CUSTOM_METRICS, Traffic.EXTERNAL_METRICS}
CONCURRENT_MAX: Final = {
    Traffic.LIST: 16,
    Traffic.DISCOVERY: 8,
    Traffic.SCALE: 64,
    Traffic.CUSTOM_SCALE: 32,
    Traffic.STATUS: 64,
    Traffic.EVENT: 4,
    Traffic.LEASE: 4,
    Traffic.RESOURCE_METRICS: 64,
    Traffic.CUSTOM_METRICS: 32,
    Traffic.EXTERNAL_METRICS: 32,
    Traffic.REVIEW: 2,
    Traffic.HISTORY: 4,
}
_NEVER_LIMITED: Final = {Traffic.LEASE, Traffic.LIST, Traffic.DISCOVERY, Traffic.REVIEW, Traffic.HISTORY}
PATIENT_READS: Final = METRICS | {Traffic.SCALE, Traffic.CUSTOM_SCALE}
"""What syncs ask before they decide. Under overload each waits as long as it takes for the older ones to be asked: one
that gave up would come back as the youngest, and never be served."""


def lanes(qps: float, burst: int, time_s: Callable[[], float]) -> dict[Traffic, Lane]:
    """A lane for each kind; `qps` 0: no limit, otherwise each kind that is limited has a bucket of its own."""
    return {
        kind: Lane(places, Budget(0.0 if kind in _NEVER_LIMITED else qps, burst, time_s))
        for kind, places in CONCURRENT_MAX.items()
    }
