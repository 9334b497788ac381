"""Every event the controller emits: type, reason and text together (§16.1)."""

from typing import Literal

import msgspec


class Event(msgspec.Struct, frozen=True, gc=False):
    """An event about an HPA, before aggregation (§16.2)."""

    type: Literal["Normal", "Warning"]
    reason: str
    message: str


def scale_unreadable(error: str) -> Event:
    """§4.4."""
    return Event("Warning", "FailedGetScale", error)


def selector_required() -> Event:
    """§5.1: its reason differs from the condition's."""
    return Event("Warning", "SelectorRequired", "selector is required")


def selector_invalid(error: str) -> Event:
    """§5.2."""
    return Event("Warning", "InvalidSelector", error)


def selector_ambiguous(text: str) -> Event:
    """§5.4."""
    return Event("Warning", "AmbiguousSelector", text)


def metric_failed(reason: str, error: str) -> Event:
    """§6.2: one for each failing metric, with its inner error."""
    return Event("Warning", reason, error)


def replicas_not_computed(error: str) -> Event:
    """§4.8: after the status write."""
    return Event("Warning", "FailedComputeMetricsReplicas", error)


def rescaled(replicas: int, reason: str) -> Event:
    """§13.3; the reason may be empty (§4.11)."""
    return Event("Normal", "SuccessfulRescale", f"New size: {replicas}; reason: {reason}")


def rescale_failed(replicas: int, reason: str, error: str) -> Event:
    """§13.2."""
    return Event("Warning", "FailedRescale", f"New size: {replicas}; reason: {reason}; error: {error}")


def status_not_written(error: str) -> Event:
    """§14.5."""
    return Event("Warning", "FailedUpdateStatus", error)
