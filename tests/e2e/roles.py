"""Who may do what: the rights of controllers under test, given to users, groups and service accounts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.e2e.api_client import APPLY_PATCH, ApiClient, ApiError
from tests.e2e.permissions import rules
from tests.e2e.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# The API server makes this role at its start: the table of docs/behaviour.md, §23.
UPSTREAM_ROLE = "system:controller:horizontal-pod-autoscaler"
SCALE_WATCH_ROLE = "e2e:scale-watch"
LEASE_ROLE = "e2e:lease"
LEASE_NAMESPACE = "kube-system"
# Every user in this group may do all that the controller does with its default flags.
CONTROLLERS = "e2e:controllers"

# Every user in this group may do all that a controller with --shadow does: read.
SHADOWS = "e2e:shadows"
SHADOW_ROLE = "e2e:shadow"

_RBAC = "/apis/rbac.authorization.k8s.io/v1"
_BY = "?fieldManager=e2e&force=true"
_METRICS_APIS = ("resourceMetricsApi", "customMetricsApi", "externalMetricsApi")
_SHADOW_RULES = rules("scaling", "scaleCaches", *_METRICS_APIS)
_SCALE_WATCH_RULES = [rule for rule in _SHADOW_RULES if rule not in rules("scaling", *_METRICS_APIS)]
_LEASE_RULES = rules("own", "elects")


def group(name: str) -> dict[str, str]:
    """A group as the subject of a binding."""
    return {"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": name}


def user(name: str) -> dict[str, str]:
    """A user as the subject of a binding."""
    return {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": name}


def service_account(namespace: str, name: str) -> dict[str, str]:
    """A service account as the subject of a binding."""
    return {"kind": "ServiceAccount", "namespace": namespace, "name": name}


async def define_controllers(admin: ApiClient) -> None:
    """Makes the roles, gives all of them to the group CONTROLLERS and returns when that counts."""
    await _define(admin, "ClusterRole", SCALE_WATCH_ROLE, {"rules": _SCALE_WATCH_RULES})
    await _define(admin, "ClusterRole", LEASE_ROLE, {"rules": _LEASE_RULES})
    subject = group(CONTROLLERS)
    await allow_control(admin, subject)
    await bind_cluster_role(admin, SCALE_WATCH_ROLE, subject)
    for verb, resource in (("watch", "replicationcontrollers"), ("update", "leases.coordination.k8s.io")):
        await wait_allowed(admin, subject, verb, resource, LEASE_NAMESPACE)


async def define_shadows(admin: ApiClient) -> None:
    """Makes the role that only reads, gives it to the group SHADOWS and returns when that counts."""
    await _define(admin, "ClusterRole", SHADOW_ROLE, {"rules": _SHADOW_RULES})
    subject = group(SHADOWS)
    await bind_cluster_role(admin, SHADOW_ROLE, subject)
    for verb, resource in (("watch", "pods"), ("watch", "deployments.apps"), ("list", "pods.metrics.k8s.io")):
        await wait_allowed(admin, subject, verb, resource)


async def allow_control(admin: ApiClient, subject: Mapping[str, str]) -> None:
    """Gives a subject the role of §23 and Leases in LEASE_NAMESPACE, and nothing else; returns when that counts."""
    await bind_cluster_role(admin, UPSTREAM_ROLE, subject)
    await bind_role(admin, LEASE_NAMESPACE, LEASE_ROLE, subject)
    for verb, resource in (
        ("watch", "pods"),
        ("watch", "horizontalpodautoscalers.autoscaling"),
        ("update", "leases.coordination.k8s.io"),
    ):
        await wait_allowed(admin, subject, verb, resource, LEASE_NAMESPACE)


async def define_cluster_role(admin: ApiClient, name: str, rules: Sequence[Mapping[str, Any]]) -> None:
    """Makes or changes a cluster role."""
    await _define(admin, "ClusterRole", name, {"rules": list(rules)})


async def bind_cluster_role(admin: ApiClient, role: str, subject: Mapping[str, str]) -> None:
    """Gives a subject a cluster role in all namespaces."""
    binding = {"roleRef": _reference(role), "subjects": [dict(subject)]}
    await _define(admin, "ClusterRoleBinding", _name(role, subject), binding)


async def bind_role(admin: ApiClient, namespace: str, role: str, subject: Mapping[str, str]) -> None:
    """Gives a subject a cluster role in one namespace."""
    binding = {"roleRef": _reference(role), "subjects": [dict(subject)]}
    await _define(admin, "RoleBinding", _name(role, subject), binding, namespace)


async def wait_allowed(
    admin: ApiClient, subject: Mapping[str, str], verb: str, resource: str, namespace: str | None = None
) -> None:
    """Returns when a subject may do something; resource is written ``plural.group``. Raises TimeoutError."""
    plural, _, api_group = resource.partition(".")
    attributes = {"verb": verb, "resource": plural, "group": api_group, "namespace": namespace or ""}

    async def allowed() -> bool:
        review = {"spec": {"resourceAttributes": attributes, **_identity(subject)}}
        answer = await admin.create("/apis/authorization.k8s.io/v1/subjectaccessreviews", review)
        return bool(answer["status"]["allowed"])

    await wait_until(allowed, f"{subject['name']} to be allowed to {verb} {resource}", ignoring=(ApiError,))


def _identity(subject: Mapping[str, str]) -> dict[str, Any]:
    match subject["kind"]:
        case "Group":
            return {"user": "e2e:anybody", "groups": [subject["name"]]}
        case "User":
            return {"user": subject["name"]}
        case _:
            return {"user": f"system:serviceaccount:{subject['namespace']}:{subject['name']}"}


def _reference(role: str) -> dict[str, str]:
    return {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role}


def _name(role: str, subject: Mapping[str, str]) -> str:
    return f"{role}:{subject.get('namespace', '')}:{subject['name']}"


async def _define(
    admin: ApiClient, kind: str, name: str, body: Mapping[str, Any], namespace: str | None = None
) -> None:
    manifest = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": {"name": name}, **body}
    place = f"{_RBAC}/namespaces/{namespace}" if namespace else _RBAC
    await admin.patch(f"{place}/{kind.lower()}s/{name}{_BY}", manifest, APPLY_PATCH)
