"""What a workload's manifest says of its pods' requests and limits (§9), as far as its template shows it."""

from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from controller.decide import quantity
from controller.manifest.load import Document
from controller.manifest.tree import Node, Number, Path, find, text_at

TEMPLATE: Final[Path] = ("spec", "template", "spec")
_POD_LEVEL: Final = ("cpu", "memory")
_POD_LEVEL_PREFIX: Final = "hugepages-"


class Container(msgspec.Struct, frozen=True):
    """A container of the template: amounts in nano-units by resource, and where it stands.

    `requests_nano` holds the limit where only that is set, as the API server fills it in for pods.
    """

    name: str
    path: Path
    line: int
    requests_nano: Mapping[str, int]
    limits_nano: Mapping[str, int]


class Template(msgspec.Struct, frozen=True):
    """The containers whose requests count (regular ones and sidecars), all containers, and the pod-level amounts."""

    counted: tuple[Container, ...]
    every: tuple[Container, ...]
    pod_requests_nano: Mapping[str, int]
    overhead_nano: Mapping[str, int]

    def has_pod_level(self) -> bool:
        """Whether the pods set a request of their own, beside those of their containers (§9.2)."""
        return any(
            resource in _POD_LEVEL or resource.startswith(_POD_LEVEL_PREFIX) for resource in self.pod_requests_nano
        )

    def pod_level_names(self, resource: str) -> bool:
        """Whether the pods' total of a resource is known from the pod, its containers or its overhead."""
        return (
            resource in self.pod_requests_nano
            or resource in self.overhead_nano
            or any(resource in container.requests_nano for container in self.every)
        )


def template(document: Document) -> Template | None:
    """The pod template of a workload's manifest; None when it has none that we understand."""
    pod = find(document.root, TEMPLATE)
    if pod is None:
        return None
    regular = tuple(_containers(pod, "containers"))
    initial = tuple(_containers(pod, "initContainers"))
    sidecars = tuple(container for container, restarts in initial if restarts)
    if not regular:
        return None
    requests, _ = _resources(pod)
    return Template(
        counted=(*(container for container, _ in regular), *sidecars),
        every=tuple(container for container, _ in (*regular, *initial)),
        pod_requests_nano=requests,
        overhead_nano=_amounts(pod, "overhead"),
    )


def _containers(pod: Node, key: str) -> Iterator[tuple[Container, bool]]:
    """Containers, and whether they are restarted for ever, which makes a sidecar of an init container."""
    listed = find(pod, (key,))
    for index, node in enumerate(listed.value if listed is not None and isinstance(listed.value, list) else ()):
        requests, limits = _resources(node)
        path: Path = (*TEMPLATE, key, index)
        container = Container(text_at(node, "name"), path, node.line, requests, limits)
        yield container, text_at(node, "restartPolicy") == "Always"


def _resources(node: Node) -> tuple[dict[str, int], dict[str, int]]:
    limits = _amounts(node, "resources", "limits")
    return limits | _amounts(node, "resources", "requests"), limits


def _amounts(node: Node, *path: str) -> dict[str, int]:
    """Amounts by resource; those that are no quantities are left out, for the API server says so anyway."""
    found = find(node, path)
    amounts: dict[str, int] = {}
    if found is None or not isinstance(found.value, dict):
        return amounts
    for resource, amount in found.value.items():
        text = amount.value.text if isinstance(amount.value, Number) else amount.value
        if isinstance(text, str):
            try:
                amounts[resource] = quantity.parse(text.strip()).nano()
            except quantity.QuantityError:
                continue
    return amounts
