"""What pods request of a resource, in milli-units (§9)."""

from collections.abc import Iterable, Mapping

from controller.decide.observed import Container, Pod, PodRequests
from controller.decide.quantity import milli_of_nano


def requests_milli(pods: Iterable[Pod], resource: str, container: str, *, pod_level: bool) -> Mapping[str, int] | str:
    """Milli-units by pod name, or the text of the first error (§9.1).

    `container` empty means the whole pod. `pod_level` is the PodLevelResources gate. Every pod counts, whatever its
    state.
    """
    found: dict[str, int] = {}
    by_template: dict[int, int] = {}
    for pod in pods:
        template = id(pod.requests)
        request = by_template.get(template)
        if request is None:
            computed = _of_pod(pod.requests, resource, container, pod_level=pod_level)
            if isinstance(computed, str):
                return f"{computed} {pod.name}"
            request = by_template[template] = computed
        found[pod.name] = request
    return found


def _of_pod(requests: PodRequests, resource: str, container: str, *, pod_level: bool) -> int | str:
    """Milli-units, or an error text that lacks only the pod's name at its end."""
    if container:
        return _of_container(requests, resource, container)
    if pod_level and has_pod_level(requests):
        total_nano = effective_nano(requests, resource)
        return f"missing pod-level request for {resource} in Pod" if total_nano is None else milli_of_nano(total_nano)
    total_milli = 0
    for counted in _counted(requests):
        request_nano = counted.requests_nano.get(resource)
        if request_nano is None:
            return f"missing request for {resource} in container {counted.name} of Pod"
        total_milli += milli_of_nano(request_nano)
    return total_milli


def _of_container(requests: PodRequests, resource: str, container: str) -> int | str:
    for counted in _counted(requests):
        if counted.name == container:
            request_nano = counted.requests_nano.get(resource)
            if request_nano is None:
                return f"missing request for {resource} in container {container} of Pod"
            return milli_of_nano(request_nano)
    return f"container {container} not found in Pod"


def _counted(requests: PodRequests) -> Iterable[Container]:
    """Regular containers, then sidecars (§9.3)."""
    yield from requests.containers
    yield from (container for container in requests.init_containers if container.restartable)


def has_pod_level(requests: PodRequests) -> bool:
    """Whether the pod requests something for all of its containers together, so that its total counts (§9.2)."""
    return any(map(_supported_at_pod_level, requests.pod_level_nano))


def _supported_at_pod_level(resource: str) -> bool:
    return resource in ("cpu", "memory") or resource.startswith("hugepages-")


def effective_nano(requests: PodRequests, resource: str) -> int | None:
    """The pod's total with overhead, or None when neither the pod nor a container nor the overhead names it (§9.2)."""
    overhead_nano = requests.overhead_nano.get(resource)
    if resource in requests.pod_level_nano and _supported_at_pod_level(resource):
        total_nano: int | None = requests.pod_level_nano[resource]
    else:
        total_nano = _aggregate_nano(requests, resource)
    if total_nano is None:
        return overhead_nano
    return total_nano + (overhead_nano or 0)


def _aggregate_nano(requests: PodRequests, resource: str) -> int | None:
    """Containers and sidecars together, but at least what the start of the pod takes at its peak."""
    named = [c for c in (*requests.containers, *requests.init_containers) if resource in c.requests_nano]
    if not named:
        return None
    total_nano = sum(container.requests_nano.get(resource, 0) for container in _counted(requests))
    sidecars_nano = peak_nano = 0
    for container in requests.init_containers:
        request_nano = container.requests_nano.get(resource, 0)
        if container.restartable:
            sidecars_nano += request_nano
            peak_nano = max(peak_nano, sidecars_nano)
        else:
            peak_nano = max(peak_nano, sidecars_nano + request_nano)
    return max(total_nano, peak_nano)
