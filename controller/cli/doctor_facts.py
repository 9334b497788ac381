"""Reading what a check-up looks at from a cluster; what cannot be read is said, and the rest is looked at."""

from collections.abc import AsyncIterator, Iterable
from typing import Any, Final

import msgspec

from controller.decide import selectors
from controller.decide.observed import PodRequests
from controller.explain.facts import CORE_SCALABLE, Facts, Patient, Target, TargetKey, lacking
from controller.explain.rows import Rows
from controller.kube.client import Client, Traffic
from controller.kube.list_watch import decode_watched_autoscaler
from controller.kube.urls import path_of
from controller.ports import ApiError
from controller.wire.errors import WireError
from controller.wire.objects import decode_list, served_group_versions
from controller.wire.pods import decode_pod
from controller.wire.scales import decode_workload

PAGE: Final = 500
_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_METRICS: Final = (
    "metrics.k8s.io/v1beta1",
    "custom.metrics.k8s.io/v1beta2",
    "custom.metrics.k8s.io/v1beta1",
    "external.metrics.k8s.io/v1beta1",
)


class _Resource(msgspec.Struct):
    name: str
    kind: str


class _Resources(msgspec.Struct):
    resources: tuple[_Resource, ...] = ()


class Reader:
    """Reads a cluster; `namespace` empty for all. `missing` says what could not be read."""

    def __init__(self, client: Client, namespace: str) -> None:
        self._client = client
        self._namespace = namespace
        self.missing: list[str] = []

    async def facts(self, rows: Rows | None, missing: Iterable[str] = ()) -> Facts:
        """Everything there is to look at; `rows` are a controller's.

        Raises:
            ApiError: not even the HPAs can be listed.
        """
        self.missing = list(missing)
        patients = [patient async for patient in self._patients()]
        served, unavailable = await self._served(), {}
        for version in _METRICS if served is not None else ():
            reason = await self._unavailable(version)
            if reason:
                unavailable[version] = reason
        targets = {key: target async for key, target in self._core(patients)}
        for one in patients:
            if one.target not in targets:
                targets[one.target] = await self._other(one)
        for one in patients:
            targets[one.target] = await self._as_admitted(one, targets[one.target])
        return Facts(
            tuple(patients),
            targets,
            served,
            unavailable,
            None if rows is None else {f"{row.namespace}/{row.name}": row for row in rows.rows},
            None if rows is None else rows.gates,
            tuple(self.missing),
        )

    async def _patients(self) -> AsyncIterator[Patient]:
        async for body in self._listed("/apis/autoscaling/v2", "horizontalpodautoscalers"):
            watched, _ = decode_watched_autoscaler(body)
            yield Patient(watched.namespace, watched.name, watched.spec, watched.status, watched.problem)

    async def _core(self, patients: list[Patient]) -> AsyncIterator[tuple[TargetKey, Target]]:
        """The targets of kinds that Kubernetes itself has: a list of each kind that is needed."""
        wanted = {one.target for one in patients}
        for (group, kind), resource in CORE_SCALABLE.items():
            keys = {key for key in wanted if key[:2] == (group, kind)}
            if not keys:
                continue
            try:
                async for body in self._listed(f"/apis/{group}/v1" if group else "/api/v1", resource):
                    raw = msgspec.json.decode(body)
                    metadata = raw.get("metadata", {})
                    key = (group, kind, metadata.get("namespace", ""), metadata.get("name", ""))
                    if key in keys:
                        keys.discard(key)
                        yield key, _target(body, raw, kind)
            except ApiError as error:
                self.missing.append(f"{resource} cannot be listed: {error}")
                for key in keys:
                    yield key, Target(scalable=True)
                continue
            for key in keys:
                yield key, Target(exists=False, scalable=True)

    async def _other(self, one: Patient) -> Target:
        """A target of another kind: whether it can be scaled, and exists."""
        reference = one.spec.target
        version = reference.api_version or "v1"
        prefix = f"/apis/{version}" if "/" in version else f"/api/{version}"
        try:
            body = await self._client.get(prefix, Traffic.DISCOVERY)
        except ApiError as error:
            return Target(scalable=False) if error.status == 404 else Target()  # noqa: PLR2004 - not found
        resources = msgspec.json.decode(body, type=_Resources).resources
        plural = next((one.name for one in resources if one.kind == reference.kind and "/" not in one.name), None)
        if plural is None or not any(every.name == f"{plural}/scale" for every in resources):
            return Target(scalable=False)
        path = prefix + path_of("namespaces", one.namespace, plural, reference.name)
        try:
            await self._client.get(path, Traffic.DISCOVERY)
        except ApiError as error:
            return Target(exists=False if error.status == 404 else None, scalable=True)  # noqa: PLR2004 - not found
        return Target(exists=True, scalable=True)

    async def _as_admitted(self, one: Patient, target: Target) -> Target:
        """The requests of a real pod where the template lacks some: a LimitRange may have added them."""
        if target.requests is None or target.selector is None:
            return target
        named = {getattr(metric, "name", "") for metric in one.spec.metrics}
        if not any(lacking(target.requests, resource, "") for resource in named if resource):
            return target
        query = {"labelSelector": target.selector.text, "limit": "1"}
        try:
            body = await self._client.get(
                path_of("api", "v1", "namespaces", one.namespace, "pods"), Traffic.DISCOVERY, query=query
            )
            for item in decode_list(body).items or ():
                _, pod, _ = decode_pod(bytes(item))
                return msgspec.structs.replace(target, requests=pod.requests)
        except (ApiError, WireError):
            pass  # the template is what is known
        return target

    async def _served(self) -> frozenset[str] | None:
        try:
            return served_group_versions(await self._client.get("/apis", Traffic.DISCOVERY))
        except (ApiError, WireError) as error:
            self.missing.append(f"the API server does not say what it serves: {error}")
            return None

    async def _unavailable(self, version: str) -> str:
        """Why an aggregated API does not work; empty if it does, or is none."""
        group, _, number = version.partition("/")
        path = path_of("apis", "apiregistration.k8s.io", "v1", "apiservices", f"{number}.{group}")
        try:
            service = msgspec.json.decode(await self._client.get(path, Traffic.DISCOVERY))
        except (ApiError, msgspec.DecodeError):
            return ""
        for condition in (service.get("status") or {}).get("conditions") or ():
            if condition.get("type") == "Available" and condition.get("status") != "True":
                return f"{condition.get('reason', '')}: {condition.get('message', '')}"
        return ""

    async def _listed(self, prefix: str, resource: str) -> AsyncIterator[bytes]:
        """The encoded objects of a resource, page by page."""
        path = prefix + (path_of("namespaces", self._namespace, resource) if self._namespace else f"/{resource}")
        query = {"limit": str(PAGE)}
        while True:
            found = decode_list(await self._client.get(path, Traffic.LIST, query=query))
            for item in found.items or ():
                yield bytes(item)
            token = found.metadata.continue_
            if not token:
                return
            query = {"limit": str(PAGE), "continue": token}


def _target(body: bytes, raw: dict[str, Any], kind: str) -> Target:
    spec = raw.get("spec") or {}
    template = spec.get("template") or {}
    labels = (template.get("metadata") or {}).get("labels") or {}
    try:
        selector = selectors.parse(
            decode_workload(
                body, "ReplicationController" if kind == "ReplicationController" else "Deployment"
            ).scale.selector
        )
    except (WireError, selectors.SelectorError):
        selector = None
    return Target(
        exists=True,
        scalable=True,
        selector=selector,
        labels=labels,
        requests=_requests(template),
        replicas_from=_replicas_from(raw),
    )


def _requests(template: dict[str, Any]) -> PodRequests | None:
    """What the pods of a template request, read as those of a pod are."""
    pod = {"metadata": {"name": "template", "namespace": "template"}, "spec": template.get("spec") or {}, "status": {}}
    try:
        return decode_pod(msgspec.json.encode(pod))[1].requests
    except WireError:
        return None


def _replicas_from(raw: dict[str, Any]) -> str:
    """What sets the replicas each time it is applied; empty if nothing does."""
    metadata = raw.get("metadata") or {}
    for entry in metadata.get("managedFields") or ():
        fields = (entry.get("fieldsV1") or {}).get("f:spec") or {}
        if entry.get("operation") == "Apply" and not entry.get("subresource") and "f:replicas" in fields:
            return f"the manifest that {entry.get('manager', 'somebody')} applies"
    applied = (metadata.get("annotations") or {}).get(_APPLIED, "")
    try:
        content = msgspec.json.decode(applied) if applied else {}
    except msgspec.DecodeError:
        return ""
    # The server's own defaults are not in it.
    return "the manifest that kubectl applies" if "replicas" in (content.get("spec") or {}) else ""
