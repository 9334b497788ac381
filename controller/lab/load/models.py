"""What load does to the pods of a target: requests of a service, items of a queue, or simply so many pods' worth."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import msgspec

from controller.lab.behaviour.pod_status import amount
from controller.lab.load.curves import Curve
from controller.lab.objects.quantity import parse as parse_quantity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from controller.lab.objects.resources import Object

IDLE_CPU = 0.005
IDLE_MEMORY_BYTES = 32 * 2**20


class Described(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """An object that a metric describes, in the namespace of the load."""

    kind: str
    name: str
    api_version: str = ""


class ObjectSeries(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A custom metric of one object."""

    metric: str
    object: Described


class ExternalSeries(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An external metric with its labels."""

    name: str
    labels: dict[str, str] = {}


class Service(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """Requests that are spread evenly over the ready pods of a target.

    Each costs `cpu_per_request` (seconds of a core, as a quantity) on top of `idle_cpu`; what is beyond a pod's CPU
    limit is not served. `start_up_cpu` is used in addition by pods that run and are not ready yet.
    """

    requests_per_second: Curve
    cpu_per_request: str = "10m"
    idle_cpu: str = "10m"
    start_up_cpu: str = "0"
    memory: str = "128Mi"
    memory_per_request: str = "0"
    pods_metric: str = ""
    object_metric: ObjectSeries | None = None

    def __post_init__(self) -> None:
        """Raises ValueError for a text that is no quantity, or one below 0."""
        for text in (self.cpu_per_request, self.idle_cpu, self.start_up_cpu, self.memory, self.memory_per_request):
            _parse_cost(text)


class Queue(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """Items that arrive, wait, and are worked off by ready pods, each at most `per_pod` a second.

    The backlog is `external_metric`. A busy pod uses `cpu_per_item` per item.
    """

    arrivals_per_second: Curve
    per_pod: float
    external_metric: ExternalSeries
    cpu_per_item: str = "50m"

    def __post_init__(self) -> None:
        """Raises ValueError for a text that is no quantity, or for anything below 0."""
        _parse_cost(self.cpu_per_item)
        if not 0 <= self.per_pod < math.inf:
            raise ValueError("perPod must be a number from 0 on")


class Work(msgspec.Struct):
    """What a pod has done since the beginning; differences between two moments give rates."""

    cpu_s: float = 0.0
    requests: float = 0.0
    memory_bytes: float = IDLE_MEMORY_BYTES


class Outcome(msgspec.Struct):
    """What one load has come to: the rate now, what was not served since the beginning, and a queue's backlog."""

    rate: float = 0.0
    offered: float = 0.0
    unserved: float = 0.0
    backlog: float = 0.0


def serve(
    service: Service, rate: float, step_s: float, running: Sequence[tuple[Object, bool, Work]], total: Outcome
) -> None:
    """Let a service work for a moment; `running` has each running pod, whether it is ready, and its work."""
    ready = [(pod, work) for pod, is_ready, work in running if is_ready]
    share = rate / len(ready) if ready else 0.0
    cost, idle = float(parse_quantity(service.cpu_per_request)), float(parse_quantity(service.idle_cpu))
    served = 0.0
    for pod, work in ready:
        limit = cpu_limit(pod)
        most = share if limit is None or not cost else max(0.0, limit - idle) / cost
        done = min(share, most)
        served += done
        work.cpu_s += (idle + done * cost) * step_s
        work.requests += done * step_s
        growth = float(parse_quantity(service.memory_per_request)) * done
        work.memory_bytes = float(parse_quantity(service.memory)) + growth
    starting = idle + float(parse_quantity(service.start_up_cpu))
    for _, is_ready, work in running:
        if not is_ready:
            work.cpu_s += starting * step_s
    total.rate = rate
    total.offered += rate * step_s
    total.unserved += (rate - served) * step_s


def drain(
    queue: Queue, rate: float, step_s: float, running: Sequence[tuple[Object, bool, Work]], total: Outcome
) -> None:
    """Let a queue fill and its workers empty it for a moment."""
    total.rate = rate
    total.offered += rate * step_s
    total.backlog += rate * step_s
    workers = [work for _, is_ready, work in running if is_ready]
    done = min(total.backlog, queue.per_pod * len(workers) * step_s)
    total.backlog -= done
    for _, _, work in running:
        work.cpu_s += IDLE_CPU * step_s
    for work in workers:
        work.cpu_s += float(parse_quantity(queue.cpu_per_item)) * done / len(workers)
        work.requests += done / len(workers)


def _parse_cost(text: str) -> None:
    if parse_quantity(text) < 0:
        raise ValueError(f"{text!r} must not be below 0")


def cpu_limit(pod: Object) -> float | None:
    """The cores that the first container of a pod may use; None when it has no limit."""
    return amount(pod["spec"]["containers"][0], "limits", "cpu")
