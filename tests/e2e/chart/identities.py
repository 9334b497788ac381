"""The identity that a release gives to the controller: running with it, and taking rights away from it."""

from __future__ import annotations

import dataclasses
import fnmatch
import itertools
import re
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from tests.e2e import roles
from tests.e2e.chart.releases import flags_of
from tests.e2e.controller_process import ControllerProcess
from tests.e2e.namespaces import create_namespace, delete_namespace
from tests.e2e.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence
    from pathlib import Path

    from tests.e2e.audited import Audited
    from tests.e2e.chart.releases import Helm
    from tests.e2e.control_plane import ControlPlane

RELEASE = "hpa-controller"
# Given up again by the flags of a test, so that several controllers can be at work one after the other.
_CHOSEN_BY_TESTS = ("--metrics-bind-address", "--health-probe-bind-address")
# Each start has a log of its own.
_COUNT = itertools.count()
_RBAC = "/apis/rbac.authorization.k8s.io/v1"


@dataclasses.dataclass(frozen=True)
class Installed:
    """A release: its namespace, the flags of its Deployment, and the identity of its pods."""

    namespace: str
    flags: tuple[str, ...]
    user: str
    kubeconfig: Path
    token: str = dataclasses.field(repr=False)

    @asynccontextmanager
    async def running(self, plane: ControlPlane, *flags: str, **options: Any) -> AsyncIterator[ControllerProcess]:
        """The controller as its pod would run it, but on free ports of loopback and with the tests' short periods."""
        start = ControllerProcess.start(
            plane,
            f"chart-identity-{next(_COUNT)}",
            *self.flags,
            *flags,
            kubeconfig=self.kubeconfig,
            user=self.user,
            **options,
        )
        async with start as controller:
            yield controller


@asynccontextmanager
async def release(plane: ControlPlane, helm: Helm, values: Mapping[str, Any]) -> AsyncIterator[Installed]:
    """A release in a namespace of its own, and what the kubelet would give to its pods."""
    namespace = await create_namespace(plane.admin, "chart")
    await helm.apply("install", RELEASE, namespace, values)
    deployment = await plane.admin.get(f"/apis/apps/v1/namespaces/{namespace}/deployments/{RELEASE}")
    account = deployment["spec"]["template"]["spec"]["serviceAccountName"]
    token = await plane.service_account_token(namespace, account)
    # As in a pod, the token is read from a file.
    path = plane.files.state / f"token-{namespace}"
    path.touch(mode=0o600)
    path.write_text(token)
    flags = tuple(flag for flag in flags_of(deployment) if not flag.startswith(_CHOSEN_BY_TESTS))
    kubeconfig = plane.kubeconfig({"tokenFile": str(path)})
    subject = roles.service_account(namespace, account)
    if not values.get("shadow"):
        await roles.wait_allowed(plane.admin, subject, "create", "leases.coordination.k8s.io", namespace)
    for watched in values.get("namespaces", [None]):
        await roles.wait_allowed(plane.admin, subject, "watch", "pods", watched)
    try:
        yield Installed(namespace, flags, f"system:serviceaccount:{namespace}:{account}", kubeconfig, token)
    finally:
        await helm.run("uninstall", RELEASE, "--namespace", namespace)
        await delete_namespace(plane.admin, namespace)


def lease_path(installed: Installed) -> str:
    """Where the release's Lease is."""
    return f"/apis/coordination.k8s.io/v1/namespaces/{installed.namespace}/leases/{RELEASE}"


def said(controller: ControllerProcess) -> list[str]:
    """All errors of the log."""
    return [str(line["error"]) for line in controller.logs() if "error" in line]


def uses(request: Audited, verb: str, rule: Mapping[str, Any]) -> bool:
    """Whether a request needed this verb of the rule."""

    def matches(names: Sequence[str], actual: str) -> bool:
        return any(fnmatch.fnmatchcase(actual, name) for name in names)

    return (
        request.verb == verb
        and matches(rule["resources"], request.resource)
        and matches(rule["apiGroups"], request.group)
    )


def complains_about(text: str, rule: Mapping[str, Any]) -> bool:
    """Whether a message names one of the rule's verbs together with one of its resources and groups."""

    def any_of(names: Sequence[str]) -> str:
        return "|".join(re.escape(name).replace(r"\*", '[^"]*') for name in names)

    verbs, resources, groups = (any_of(rule[key]) for key in ("verbs", "resources", "apiGroups"))
    return re.search(f'cannot ({verbs}) resource "({resources})" in API group "({groups})"', text) is not None


@asynccontextmanager
async def without(
    plane: ControlPlane, installed: Installed, section: str, rule: Mapping[str, Any]
) -> AsyncIterator[None]:
    """The release's role lacks a rule inside of the context."""
    admin, at = plane.admin, installed.namespace
    if section != "own":
        path = f"{_RBAC}/clusterroles/{at}-{RELEASE}"
    else:
        path = f"{_RBAC}/namespaces/{at}/roles/{RELEASE}-own"
    role = await admin.get(path)
    kept = [
        each for each in role["rules"] if any(each[key] != rule[key] for key in ("apiGroups", "resources", "verbs"))
    ]
    assert len(kept) == len(role["rules"]) - 1
    await admin.patch(path, {"rules": kept})
    await allowed(plane, installed, rule, expected=False)
    try:
        yield
    finally:
        await admin.patch(path, {"rules": role["rules"]})
        await allowed(plane, installed, rule, expected=True)


async def may_get(plane: ControlPlane, user: str, path: str) -> None:
    """Returns when the API server lets a user get a non-resource URL."""
    review = {"spec": {"user": user, "nonResourceAttributes": {"path": path, "verb": "get"}}}

    async def reviewed() -> bool:
        answer = await plane.admin.create("/apis/authorization.k8s.io/v1/subjectaccessreviews", review)
        return bool(answer["status"].get("allowed"))

    await wait_until(reviewed, f"{user} to be allowed to get {path}")


async def allowed(plane: ControlPlane, installed: Installed, rule: Mapping[str, Any], *, expected: bool) -> None:
    """Returns when the API server goes by the changed role."""
    # Any resource, and any subresource of it, stands for all.
    resource, _, subresource = rule["resources"][0].replace("*", "anythings").partition("/")
    attributes = {
        "verb": rule["verbs"][0],
        "group": rule["apiGroups"][0],
        "resource": resource,
        "subresource": subresource,
        "namespace": installed.namespace,
        "name": {"lease": RELEASE, "modes": "modes", "histories": f"{RELEASE}-history-0"}.get(
            rule.get("named", ""), ""
        ),
    }
    review = {"spec": {"user": installed.user, "resourceAttributes": attributes}}

    async def reviewed() -> bool:
        answer = await plane.admin.create("/apis/authorization.k8s.io/v1/subjectaccessreviews", review)
        return bool(answer["status"].get("allowed")) is expected

    await wait_until(reviewed, f"the role to {'have' if expected else 'lack'} {rule['resources']}")
