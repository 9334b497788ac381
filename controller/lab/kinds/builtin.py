"""The kinds that are served from the start."""

from __future__ import annotations

from typing import TYPE_CHECKING

from controller.lab.kinds import custom, events, fields, hpa_defaults, hpa_v1, hpa_validation, validation
from controller.lab.kinds import workload_defaults as defaults
from controller.lab.objects import names
from controller.lab.objects.resources import Endpoint, Resource, Rules, ScalePaths
from controller.lab.schema import autoscaling, cluster_kinds, control_plane, pods, workloads

if TYPE_CHECKING:
    from collections.abc import Mapping

    from controller.lab.objects.resources import Object

_ALL = ("all",)


def _resource(
    plural: str,
    kind: str,
    rules: Rules,
    *,
    group: str = "",
    namespaced: bool = True,
    field_labels: Mapping[str, tuple[str, ...]] | None = None,
    scale: ScalePaths | None = None,
) -> Resource:
    labels = field_labels or fields.METADATA_FIELDS
    return Resource(group, plural, kind, namespaced, rules, labels, scale)


HPA = _resource(
    "horizontalpodautoscalers",
    "HorizontalPodAutoscaler",
    Rules(
        canonicalize=hpa_defaults.canonicalize,
        on_create=hpa_defaults.clear_status,
        validate=hpa_validation.validate,
        validate_status=hpa_validation.validate_status,
        has_status=True,
    ),
    group="autoscaling",
)


def _workload(plural: str, kind: str, *, group: str = "apps", annotations: bool = False) -> Resource:
    status: Object = {} if kind == "Deployment" else {"replicas": 0}
    if kind == "StatefulSet":
        status["availableReplicas"] = 0

    def clear_status(obj: Object) -> None:
        obj["status"] = dict(status)

    controller = kind == "ReplicationController"
    return _resource(
        plural,
        kind,
        Rules(
            on_create=clear_status,
            validate=validation.replication_controller if controller else validation.selector_workload(immutable=True),
            generation="spec and annotations" if annotations else "spec",
            has_status=True,
            status_keeps=("labels",) if kind == "Deployment" else (),
        ),
        group=group,
        field_labels=fields.REPLICA_FIELDS if kind in ("ReplicaSet", "ReplicationController") else None,
        scale=ScalePaths(selector_form="map" if controller else "structured"),
    )


_POD = _resource(
    "pods",
    "Pod",
    Rules(
        on_create=defaults.start_pod,
        on_status=defaults.keep_quality_of_service,
        validate=validation.pod,
        generation="spec",
        has_status=True,
        status_keeps=("ownerReferences", "deletionTimestamp"),
        returns_deleted=True,
        graceful=True,
    ),
    field_labels=fields.POD_FIELDS,
)
_EVENT = _resource(
    "events",
    "Event",
    Rules(validate=validation.event, create_on_update=True, time_to_live_s=events.TIME_TO_LIVE_S),
    field_labels=fields.EVENT_FIELDS,
)
_NAMESPACE = _resource(
    "namespaces",
    "Namespace",
    Rules(
        on_create=defaults.start_namespace,
        name_problems=names.label_problems,
        has_status=True,
        returns_deleted=True,
    ),
    namespaced=False,
    field_labels=fields.NAMESPACE_FIELDS,
)
_NODE = _resource("nodes", "Node", Rules(has_status=True), namespaced=False, field_labels=fields.NODE_FIELDS)
_SERVICE = _resource(
    "services",
    "Service",
    Rules(name_problems=names.label_problems, has_status=True, create_on_update=True, returns_deleted=True),
)
_DEFINITION = _resource(
    "customresourcedefinitions",
    "CustomResourceDefinition",
    Rules(validate=custom.validate, generation="spec", has_status=True, unconditional_update=False),
    group="apiextensions.k8s.io",
    namespaced=False,
)
_LEASE = _resource(
    "leases",
    "Lease",
    Rules(validate=validation.lease, unconditional_update=False, create_on_update=True),
    group="coordination.k8s.io",
)
_INGRESS = _resource(
    "ingresses",
    "Ingress",
    Rules(generation="spec", has_status=True, create_on_update=True),
    group="networking.k8s.io",
)


def endpoints() -> list[Endpoint]:
    """Every built-in endpoint, the preferred version of each group first."""
    core = [
        Endpoint("", "v1", _POD, "pod", pods.POD, ("po",), _ALL, default=defaults.pod),
        Endpoint("", "v1", _SERVICE, "service", pods.SERVICE, ("svc",), _ALL, default=defaults.service),
        Endpoint(
            "",
            "v1",
            _workload("replicationcontrollers", "ReplicationController", group=""),
            "replicationcontroller",
            workloads.REPLICATION_CONTROLLER,
            ("rc",),
            _ALL,
            default=defaults.replication_controller,
        ),
        Endpoint("", "v1", _EVENT, "event", control_plane.EVENT, ("ev",)),
        Endpoint(
            "", "v1", _NAMESPACE, "namespace", cluster_kinds.NAMESPACE, ("ns",), default=defaults.namespace,
            verbs=("create", "delete", "get", "list", "patch", "update", "watch"),
        ),
        Endpoint("", "v1", _NODE, "node", cluster_kinds.NODE, ("no",), default=defaults.node),
        Endpoint(
            "", "v1", _resource("secrets", "Secret", Rules(), field_labels=fields.SECRET_FIELDS),
            "secret", cluster_kinds.SECRET, default=defaults.secret,
        ),
        Endpoint(
            "", "v1", _resource("configmaps", "ConfigMap", Rules()),
            "configmap", cluster_kinds.CONFIG_MAP, ("cm",),
        ),
        Endpoint(
            "", "v1", _resource("serviceaccounts", "ServiceAccount", Rules(returns_deleted=True)),
            "serviceaccount", cluster_kinds.SERVICE_ACCOUNT, ("sa",),
        ),
    ]  # fmt: skip
    apps = [
        Endpoint(
            "apps", "v1", _workload("deployments", "Deployment", annotations=True),
            "deployment", workloads.DEPLOYMENT, ("deploy",), _ALL, default=defaults.deployment,
        ),
        Endpoint(
            "apps", "v1", _workload("replicasets", "ReplicaSet"),
            "replicaset", workloads.REPLICA_SET, ("rs",), _ALL, default=defaults.replica_set,
        ),
        Endpoint(
            "apps", "v1", _workload("statefulsets", "StatefulSet"),
            "statefulset", workloads.STATEFUL_SET, ("sts",), _ALL, default=defaults.stateful_set,
        ),
    ]  # fmt: skip
    return core + apps + _other_groups()


def _other_groups() -> list[Endpoint]:
    singular, short = "horizontalpodautoscaler", ("hpa",)
    review = _resource(
        "selfsubjectaccessreviews",
        "SelfSubjectAccessReview",
        Rules(),
        group="authorization.k8s.io",
        namespaced=False,
    )
    return [
        Endpoint("events.k8s.io", "v1", _EVENT, "event", control_plane.EVENT_V1, ("ev",),
                 to_hub=events.to_hub, from_hub=events.from_hub, field_labels=fields.REGARDING_FIELDS),
        Endpoint("authorization.k8s.io", "v1", review, "selfsubjectaccessreview",
                 control_plane.SELF_SUBJECT_ACCESS_REVIEW, verbs=("create",)),
        Endpoint("autoscaling", "v2", HPA, singular, autoscaling.HPA_V2, short, _ALL,
                 default=hpa_defaults.set_defaults),
        Endpoint("autoscaling", "v1", HPA, singular, autoscaling.HPA_V1, short, _ALL,
                 default=hpa_defaults.set_minimum, to_hub=hpa_v1.to_hub, from_hub=hpa_v1.from_hub),
        Endpoint("apiextensions.k8s.io", "v1", _DEFINITION, "customresourcedefinition",
                 control_plane.CUSTOM_RESOURCE_DEFINITION, ("crd", "crds"), ("api-extensions",),
                 default=custom.set_defaults),
        Endpoint("coordination.k8s.io", "v1", _LEASE, "lease", control_plane.LEASE),
        Endpoint("networking.k8s.io", "v1", _INGRESS, "ingress", cluster_kinds.INGRESS, ("ing",)),
    ]  # fmt: skip
