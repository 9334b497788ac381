"""Advice that takes several manifests of a run: HPAs that fight, and workloads that do not fit their HPA."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import msgspec

from controller.decide import quantity
from controller.manifest import names
from controller.manifest.admission import Admission, Gates, is_autoscaler
from controller.manifest.findings import Advice
from controller.manifest.load import Document
from controller.manifest.metric_advice import effective_field
from controller.manifest.tree import Number, Path, find, text_at
from controller.manifest.validate import SOURCES
from controller.manifest.workloads import Container, Template, template

_REPLICAS: Final[Path] = ("spec", "replicas")
_DEFAULT_TOLERANCE: Final = 0.1
"""The default of --horizontal-pod-autoscaler-tolerance."""


def among_autoscalers(admissions: Sequence[Admission]) -> list[list[Advice]]:
    """Advice for each of the HPAs of a run, in their order, about those before it."""
    by_name: dict[tuple[str, str], Admission] = {}
    by_target: dict[tuple[str, ...], list[Admission]] = {}
    found: list[list[Advice]] = []
    for admission in admissions:
        metadata = admission.stored["metadata"]
        namespace, name = metadata.get("namespace", ""), metadata.get("name", "")
        reference = admission.stored["spec"]["scaleTargetRef"]
        group = reference.get("apiVersion", "").rpartition("/")[0]
        advice: list[Advice] = []
        namesake = by_name.setdefault((namespace, name), admission) if name else admission
        rivals = by_target.setdefault((namespace, group, reference["kind"].lower(), reference["name"]), [])
        rival = next((other for other in rivals if _same_kind(other, admission)), None)
        if namesake is not admission:
            advice.append(
                Advice(
                    "same-name",
                    ("metadata", "name"),
                    f"{_place(namesake)} has the same name, and the later one replaces it; rename one",
                )
            )
        elif rival is None:
            rivals.append(admission)
        elif reference["name"]:
            other = rival.stored["metadata"].get("name", "")
            advice.append(
                Advice(
                    "same-target",
                    ("spec", "scaleTargetRef"),
                    f"HorizontalPodAutoscaler {other} ({_place(rival)}) scales the same {reference['kind']}, so that "
                    f"both stop with AmbiguousSelector; put all metrics into one",
                )
            )
        found.append(advice)
    return found


def _same_kind(one: Admission, other: Admission) -> bool:
    kinds = [admission.stored["spec"]["scaleTargetRef"]["kind"] for admission in (one, other)]
    return names.means(*kinds) or names.means(*reversed(kinds))


Workloads = dict[tuple[str, str, str], list[Document]]
"""Documents by group, kind in lower case, and name."""


def workloads(documents: Iterable[Document]) -> Workloads:
    """The documents of a run that an HPA could scale."""
    found: Workloads = {}
    for document in documents:
        name = text_at(document.root, "metadata", "name")
        if name and not is_autoscaler(document):
            found.setdefault((document.group, document.kind.lower(), name), []).append(document)
    return found


def with_workload(admission: Admission, known: Workloads, gates: Gates) -> Iterator[Advice]:
    """Advice about the manifest of an HPA's scale target, if it is among those of the run."""
    workload = _target_of(admission, known)
    if workload is None:
        return
    replicas = find(workload.root, _REPLICAS)
    if replicas is not None and isinstance(replicas.value, Number):
        yield Advice(
            "replicas-set",
            _REPLICAS,
            f"applying this sets {_named(workload)} to {replicas.value.text} replicas each time, whatever "
            f"HorizontalPodAutoscaler {_name(admission)} decided; remove replicas",
            workload.file,
            replicas.line,
        )
    pods = template(workload)
    if pods is None or admission.problems:
        return
    for index, metric in enumerate(admission.stored["spec"]["metrics"]):
        if metric["type"] in ("Resource", "ContainerResource"):
            yield from _of_metric(_Measured(admission, workload, pods, gates, metric, index))


class _Measured(msgspec.Struct, frozen=True):
    """A resource metric together with the pods that it measures."""

    admission: Admission
    workload: Document
    pods: Template
    gates: Gates
    metric: dict[str, Any]
    index: int

    @property
    def path(self) -> Path:
        return ("spec", "metrics", self.index, SOURCES[self.metric["type"]])

    @property
    def source(self) -> dict[str, Any]:
        found: dict[str, Any] = self.metric[SOURCES[self.metric["type"]]]
        return found

    @property
    def resource(self) -> str:
        return str(self.source["name"])

    @property
    def container(self) -> str:
        """Empty for the whole pod."""
        return str(self.source.get("container", ""))


def _of_metric(measured: _Measured) -> Iterator[Advice]:
    pods = measured.pods
    containers = [container for container in pods.counted if measured.container in ("", container.name)]
    if not containers:
        known = ", ".join(container.name for container in pods.counted)
        yield Advice(
            "container-missing",
            (*measured.path, "container"),
            f"the pods of {_named(measured.workload)} have no container {measured.container} (they have {known}), so "
            f"that this metric fails unless something adds one; correct the name",
        )
        return
    if effective_field(measured.metric) != "averageUtilization":
        return
    if not measured.container and measured.gates.pod_level_resources and pods.has_pod_level():
        if not pods.pod_level_names(measured.resource):
            yield _at_container(
                measured, containers[0], "request-missing", f"the pods of {_named(measured.workload)} have", "them"
            )
        return
    lacking = [container for container in containers if measured.resource not in container.requests_nano]
    for container in lacking:
        subject = f"container {container.name} of {_named(measured.workload)} has"
        yield _at_container(measured, container, "request-missing", subject, "it")
    if not lacking:
        yield from _reachable(measured, containers)


def _at_container(measured: _Measured, container: Container, code: str, subject: str, owner: str) -> Advice:
    return Advice(
        code,
        (*container.path, "resources", "requests"),
        f"{subject} no request of {measured.resource}, so that HorizontalPodAutoscaler {_name(measured.admission)} "
        f"cannot compute its utilization; give {owner} one, unless a LimitRange does",
        measured.workload.file,
        container.line,
    )


def _reachable(measured: _Measured, containers: list[Container]) -> Iterator[Advice]:
    """Whether usage, which limits bound, can ever get the ratio above the tolerance (§1.3)."""
    requested = sum(container.requests_nano[measured.resource] for container in containers)
    target: Path = (*measured.path, "target", "averageUtilization")
    if requested <= 0:
        yield Advice(
            "requests-zero",
            target,
            f"the pods of {_named(measured.workload)} request 0 {measured.resource}, of which there is no percentage, "
            f"so that this metric fails; raise the request or target an averageValue",
        )
        return
    if not all(measured.resource in container.limits_nano for container in containers):
        return
    limit = sum(container.limits_nano[measured.resource] for container in containers)
    highest_percent = limit * 100 // requested
    percent: int = measured.source["target"]["averageUtilization"]
    if highest_percent / percent <= 1 + _tolerance_up(measured.admission, measured.gates):
        yield Advice(
            "utilization-unreachable",
            target,
            f"the limits of {_named(measured.workload)} end at {highest_percent} % of the requested "
            f"{measured.resource}, so that a target of {percent} % (with its tolerance) never scales up; "
            f"lower it or raise the limits",
        )


def _tolerance_up(admission: Admission, gates: Gates) -> float:
    rules = admission.stored["spec"].get("behavior", {}).get("scaleUp", {})
    if gates.configurable_tolerance and "tolerance" in rules:
        return quantity.parse(rules["tolerance"]).approximate()
    return _DEFAULT_TOLERANCE


def _target_of(admission: Admission, known: Workloads) -> Document | None:
    """The target's manifest: one of the same namespace, else one where either names none."""
    reference = admission.stored["spec"]["scaleTargetRef"]
    group = reference.get("apiVersion", "").rpartition("/")[0]
    namespace = admission.stored["metadata"].get("namespace", "")
    candidates = [
        document
        for document in known.get((group, reference["kind"].lower(), reference["name"]), [])
        if names.means(reference["kind"], document.kind)
    ]
    namespaces = [text_at(document.root, "metadata", "namespace") for document in candidates]
    if namespace in namespaces:
        return candidates[namespaces.index(namespace)]
    if not namespace:
        return candidates[0] if len(candidates) == 1 else None
    return candidates[namespaces.index("")] if "" in namespaces else None


def _named(workload: Document) -> str:
    return f"{workload.kind} {text_at(workload.root, 'metadata', 'name')}"


def _name(admission: Admission) -> str:
    return str(admission.stored["metadata"].get("name", ""))


def _place(admission: Admission) -> str:
    return f"{admission.document.file}:{admission.document.line}"
