"""Reading what a check-up looks at from a cluster; what cannot be read is said, and the rest is looked at."""

from collections.abc import AsyncIterator, Iterable
from http import HTTPStatus
from typing import Any, Final

import msgspec

from controller.decide import selectors
from controller.decide.observed import PodRequests
from controller.decide.spec import ContainerResourceMetric, ResourceMetric
from controller.explain.checkup_apis import needed
from controller.explain.facts import CORE_SCALABLE, Facts, Patient, Target, TargetKey, lacking
from controller.explain.rows import Rows
from controller.kube.client import Client
from controller.kube.discovery_documents import ResourceEntry, resources, served_group_versions
from controller.kube.errors import decoded
from controller.kube.list_watch import decode_watched_autoscaler
from controller.kube.traffic import Traffic
from controller.kube.urls import path_of
from controller.manifest import names
from controller.ports import ApiError, NotFound, ServerFailure, Unreachable
from controller.wire.errors import UNDECODABLE, WireError
from controller.wire.objects import decode_list
from controller.wire.pods import decode_pod
from controller.wire.scales import decode_workload

PAGE: Final = 500
_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_ANSWERS_WITHIN_S: Final = 10.0


class _Condition(msgspec.Struct, frozen=True):
    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""


class _ServiceStatus(msgspec.Struct, frozen=True):
    conditions: tuple[_Condition, ...] | None = None


class _Service(msgspec.Struct):
    """An APIService."""

    status: _ServiceStatus = _ServiceStatus()


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
        try:
            patients = [patient async for patient in self._patients()]
        except WireError as error:
            raise ServerFailure(f"its list of HPAs cannot be understood: {error}", HTTPStatus.OK) from error
        served, unavailable = await self._served(), {}
        for version in needed(patients) if served is not None else ():
            reason = await self._unavailable(version)
            if not reason and version in (served or ()):
                reason = await self._failing(version)
            if reason:
                unavailable[version] = reason
        understood = [one for one in patients if one.problem is None]
        targets = {key: target async for key, target in self._core(understood)}
        for one in understood:
            if one.target not in targets:
                targets[one.target] = await self._other(one, served or frozenset())
        for one in understood:
            targets[one.target] = await self._as_admitted(one, targets[one.target])
        return Facts(
            tuple(patients),
            targets,
            served,
            unavailable,
            None if rows is None else {f"{row.namespace}/{row.name}": row for row in rows.rows},
            None if rows is None else rows.gates,
            None if rows is None else rows.from_apis,
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
            except (ApiError, WireError) as error:
                self._not_seen(f"{resource} cannot be listed: {error}")
                for key in keys:
                    yield key, Target(scalable=True)
                continue
            for key in keys:
                yield key, Target(exists=False, scalable=True)

    async def _other(self, one: Patient, served: frozenset[str]) -> Target:
        """A target of another kind: whether it can be scaled, in whatever version is served (§19), and exists."""
        reference = one.spec.target
        version = reference.api_version or "v1"
        group = version.rpartition("/")[0]
        others = sorted(other for other in served if group and other.rpartition("/")[0] == group)
        for tried in dict.fromkeys((version, *others)):
            prefix = f"/apis/{tried}" if group else f"/api/{tried}"
            entries = await self._resources(tried, prefix)
            if entries is None:
                return Target()
            named = (one.name for one in entries if names.means(reference.kind, one.kind))
            plural = next((name for name in named if "/" not in name), None)
            if plural is None or not any(every.name == f"{plural}/scale" for every in entries):
                continue
            try:
                path = prefix + path_of("namespaces", one.namespace, plural, reference.name)
                await self._client.get(path, Traffic.DISCOVERY)
            except NotFound:
                return Target(exists=False, scalable=True)
            except ApiError as error:
                self._not_seen(f"{plural} of {tried} cannot be read: {error}")
                return Target(scalable=True)
            return Target(exists=True, scalable=True)
        return Target(scalable=False)

    async def _resources(self, version: str, prefix: str) -> list[ResourceEntry] | None:
        """What there is of a version, nothing if it is not served; None when that could not be found out."""
        try:
            return await resources(self._client, prefix)
        except NotFound:
            return []
        except ApiError as error:
            self._not_seen(f"what {version} has cannot be read: {error}")
            return None

    async def _as_admitted(self, one: Patient, target: Target) -> Target:
        """The requests of a real pod where the template lacks some, or a container: admission may have added them."""
        if target.requests is None or target.selector is None:
            return target
        requests = target.requests
        known = {every.name for every in (*requests.containers, *requests.init_containers)}
        measured = [
            metric for metric in one.spec.metrics if isinstance(metric, ResourceMetric | ContainerResourceMetric)
        ]
        if not any(
            lacking(requests, metric.name, "")
            or (isinstance(metric, ContainerResourceMetric) and metric.container not in known)
            for metric in measured
        ):
            return target
        query = {"labelSelector": target.selector.text, "limit": "1"}
        try:
            body = await self._client.get(
                path_of("api", "v1", "namespaces", one.namespace, "pods"), Traffic.DISCOVERY, query=query
            )
            for item in decode_list(body).items or ():
                _, pod, _ = decode_pod(bytes(item))
                return msgspec.structs.replace(target, requests=pod.requests)
        except (ApiError, WireError) as error:
            self._not_seen(f"pods cannot be read, so only templates tell what they request: {error}")
        return target

    async def _served(self) -> frozenset[str] | None:
        try:
            return await served_group_versions(self._client)
        except ApiError as error:
            self._not_seen(f"the API server does not say what it serves: {error}")
            return None

    async def _unavailable(self, version: str) -> str:
        """Why an aggregated API does not work; empty if it does, or is none."""
        group, _, number = version.partition("/")
        path = path_of("apis", "apiregistration.k8s.io", "v1", "apiservices", f"{number}.{group}")
        try:
            service = decoded(await self._client.get(path, Traffic.DISCOVERY), _Service, "an APIService")
        except NotFound:
            return ""
        except ApiError as error:
            self._not_seen(f"whether metrics APIs work cannot be read: {error}")
            return ""
        for condition in service.status.conditions or ():
            if condition.type == "Available" and condition.status != "True":
                return f"{condition.reason}: {condition.message}"
        return ""

    async def _failing(self, version: str) -> str:
        """What an API answers that claims to work, or of which nobody claims it; empty if it does work."""
        try:
            await self._client.get(f"/apis/{version}", Traffic.DISCOVERY, timeout_s=_ANSWERS_WITHIN_S)
        except (ServerFailure, Unreachable) as error:
            return str(error)
        except ApiError:
            pass  # a permission that is missing says nothing about who answers behind
        return ""

    def _not_seen(self, text: str) -> None:
        if text not in self.missing:
            self.missing.append(text)

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
    except UNDECODABLE:
        return ""
    # Anybody may write anything there. The server's own defaults are not in it.
    said = content.get("spec") if isinstance(content, dict) else None
    return "the manifest that kubectl applies" if isinstance(said, dict) and "replicas" in said else ""
