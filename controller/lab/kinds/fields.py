"""What field selectors may name, kind by kind."""

from __future__ import annotations

METADATA_FIELDS = {"metadata.name": ("metadata", "name"), "metadata.namespace": ("metadata", "namespace")}


def _fields(*names: str) -> dict[str, tuple[str, ...]]:
    return {**METADATA_FIELDS, **{name: tuple(name.split(".")) for name in names}}


POD_FIELDS = _fields(
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.schedulerName",
    "spec.serviceAccountName",
    "spec.hostNetwork",
    "status.phase",
    "status.podIP",
    "status.nominatedNodeName",
)
NAMESPACE_FIELDS = {"metadata.name": ("metadata", "name"), "status.phase": ("status", "phase")}
NODE_FIELDS = {"metadata.name": ("metadata", "name"), "spec.unschedulable": ("spec", "unschedulable")}
REPLICA_FIELDS = _fields("status.replicas")
SECRET_FIELDS = _fields("type")
EVENT_FIELDS = {
    **_fields(
        "involvedObject.kind",
        "involvedObject.namespace",
        "involvedObject.name",
        "involvedObject.uid",
        "involvedObject.apiVersion",
        "involvedObject.resourceVersion",
        "involvedObject.fieldPath",
        "reason",
        "reportingComponent",
        "type",
    ),
    "source": ("source", "component"),
}
REGARDING_FIELDS = {
    **_fields("reason", "type"),
    "reportingController": ("reportingComponent",),
    **{
        f"regarding.{name}": ("involvedObject", name)
        for name in ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
    },
}
