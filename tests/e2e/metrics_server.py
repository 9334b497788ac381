"""A stub of the three metrics APIs behind kube-apiserver's aggregation; a test sets values and failures."""

from __future__ import annotations

import asyncio
import dataclasses
import enum
import json
from collections import Counter
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any, Self

from aiohttp import web

from tests.e2e import metrics_answers as answers
from tests.e2e.commands import FRONT_PROXY_NAME
from tests.e2e.forwarding import server_context, serving
from tests.e2e.label_selector import LabelSelector, SelectorError
from tests.e2e.metrics_values import MetricsValues

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

    from tests.e2e.commands import Files

SERVICE_NAMESPACE = "kube-system"
SERVICE_NAME = "e2e-metrics"

# Longer than any client waits, so that it is the client who gives up.
_HANG_LIMIT_S = 300.0
_JSON = "application/json"
_USER = web.RequestKey("user", str)


class MetricsApi(enum.StrEnum):
    """The API groups, by name."""

    RESOURCE = "metrics.k8s.io"
    CUSTOM = "custom.metrics.k8s.io"
    EXTERNAL = "external.metrics.k8s.io"


class Fault(enum.Enum):
    """How an API can fail."""

    INTERNAL_ERROR = enum.auto()
    """500 with a Status."""
    FORBIDDEN = enum.auto()
    """403 with a Status."""
    NOT_FOUND = enum.auto()
    """404 with a Status, as adapters may answer for a metric they do not know."""
    HANG = enum.auto()
    """No answer until the fault is lifted or the client leaves."""
    EMPTY = enum.auto()
    """200 and a list without items."""
    GARBAGE = enum.auto()
    """200 and a body that is not JSON."""


@dataclasses.dataclass(frozen=True, slots=True)
class MetricsRequest:
    """A request for values that arrived."""

    user: str
    """On whose behalf kube-apiserver asks."""
    path: str
    query: dict[str, str]


class MetricsServer:
    """The stub; ``async with MetricsServer.start(files) as server`` runs one on a loopback port.

    ``values`` are what it answers, ``requests`` what it was asked, oldest first; discovery is not among them.
    ``asked`` counts the requests of all times by namespace.
    """

    def __init__(self) -> None:
        self.values = MetricsValues()
        self.requests: list[MetricsRequest] = []
        self.asked: Counter[str] = Counter()
        self.port = 0
        self._faults: dict[tuple[MetricsApi, str | None], Fault] = {}
        self._then: dict[str, Callable[[], None]] = {}
        self._faults_changed = asyncio.Event()

    @classmethod
    @asynccontextmanager
    async def start(cls, files: Files) -> AsyncIterator[Self]:
        """A server with a certificate of the control plane's authority that answers its front proxy only."""
        server = cls()
        host = f"{SERVICE_NAME}.{SERVICE_NAMESPACE}.svc"
        # Whoever has no certificate gets an answer that says so, as from a real extension server.
        context = server_context(files.authority, "metrics-server", host, clients=files.front_proxy_authority)
        async with serving(_application(server), context) as url:
            server.port = int(url.rpartition(":")[2])
            yield server

    # --- faults ---

    def fail(self, api: MetricsApi, fault: Fault, namespace: str | None = None) -> None:
        """Makes an API fail from now on, in one namespace or in all; its discovery goes on working."""
        self._faults[api, namespace] = fault
        self._notify()

    def recover(self, api: MetricsApi, namespace: str | None = None) -> None:
        """Lifts what the same call of fail began and answers requests that hang. Harmless without a fault."""
        self._faults.pop((api, namespace), None)
        self._notify()

    def reset(self) -> None:
        """Lifts every fault and forgets the requests; values stay."""
        self._faults.clear()
        self.requests.clear()
        self._notify()

    def forget(self, namespace: str) -> None:
        """Lifts the faults of a namespace and forgets its values."""
        for api in MetricsApi:
            self.recover(api, namespace)
        self._then.pop(namespace, None)
        self.values.clear(namespace)

    def once_answered(self, namespace: str, then: Callable[[], None]) -> None:
        """Calls then when the next question about the namespace has been answered, before any other one is."""
        self._then[namespace] = then

    @contextmanager
    def failing(self, api: MetricsApi, fault: Fault, namespace: str | None = None) -> Iterator[None]:
        """The API fails as long as the context is open."""
        self.fail(api, fault, namespace)
        try:
            yield
        finally:
            self.recover(api, namespace)

    def _notify(self) -> None:
        self._faults_changed.set()
        self._faults_changed = asyncio.Event()

    def _fault(self, api: MetricsApi, namespace: str | None) -> Fault | None:
        found = self._faults.get((api, namespace)) or self._faults.get((api, None))
        if found is None and namespace is None and any(failing is api for failing, _ in self._faults):
            # A list of the whole cluster has no part that fails: it cannot say which namespaces it leaves out.
            return Fault.INTERNAL_ERROR
        return found

    async def answer(
        self, api: MetricsApi, request: web.Request, compose: Callable[[web.Request, MetricsValues], Any]
    ) -> web.Response:
        """The answer to a request for values, with the fault that is on."""
        namespace = request.match_info.get("namespace")
        self.asked[namespace or ""] += 1
        self.requests.append(MetricsRequest(request[_USER], request.path, dict(request.query)))
        async with asyncio.timeout(_HANG_LIMIT_S):
            while self._fault(api, namespace) is Fault.HANG:
                await self._faults_changed.wait()
        match self._fault(api, namespace):
            case Fault.INTERNAL_ERROR:
                return _refusal(500, "InternalError", "the test wants this API to fail")
            case Fault.FORBIDDEN:
                return _refusal(403, "Forbidden", "the test wants this API to refuse")
            case Fault.NOT_FOUND:
                return _refusal(404, "NotFound", "the test wants this API to know nothing")
            case Fault.GARBAGE:
                return web.Response(text='{"kind": "PodMetricsList", "items": [', content_type=_JSON)
            case fault:
                if {"watch", "fieldSelector"} & request.query.keys():
                    return _refusal(400, "BadRequest", "neither watch nor fieldSelector is played by this stub")
                try:
                    content = compose(request, self.values)
                except SelectorError as error:
                    return _refusal(400, "BadRequest", str(error))
                if fault is Fault.EMPTY:
                    content = {**content, "items": []}
                answer = _json(content)
                if (then := self._then.pop(namespace or "", None)) is not None:
                    then()
                return answer


# --- routes ---


def _application(server: MetricsServer) -> web.Application:
    """The paths of the three APIs."""
    application = web.Application(middlewares=[_identify])

    def values(api: MetricsApi, path: str, compose: Callable[[web.Request, MetricsValues], Any]) -> None:
        async def handle(request: web.Request) -> web.Response:
            return await server.answer(api, request, compose)

        application.router.add_get(f"/apis/{api}/{path}", handle)

    def discovery(api: MetricsApi, version: str, compose: Callable[[str, MetricsValues], Any]) -> None:
        async def handle(request: web.Request) -> web.Response:
            return _json(compose(request.path.removeprefix("/apis/"), server.values))

        application.router.add_get(f"/apis/{api}/{version}", handle)

    discovery(MetricsApi.RESOURCE, "v1beta1", _discover_resource)
    values(MetricsApi.RESOURCE, "v1beta1/pods", _pods)
    values(MetricsApi.RESOURCE, "v1beta1/namespaces/{namespace}/pods", _pods)
    discovery(MetricsApi.CUSTOM, "{version:v1beta[12]}", _discover_custom)
    custom = "{version:v1beta[12]}/namespaces/{namespace}"
    values(MetricsApi.CUSTOM, custom + "/{resource}/{name}/{metric}", _custom)
    values(MetricsApi.CUSTOM, custom + "/metrics/{metric}", _custom)
    discovery(MetricsApi.EXTERNAL, "v1beta1", _discover_external)
    values(MetricsApi.EXTERNAL, "v1beta1/namespaces/{namespace}/{metric}", _external)
    return application


@web.middleware
async def _identify(
    request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    """Lets in who has the front proxy's certificate, as the user whom the front proxy names."""
    certificate = (request.transport and request.transport.get_extra_info("peercert")) or {}
    names = [value for part in certificate.get("subject", ()) for key, value in part if key == "commonName"]
    if names != [FRONT_PROXY_NAME]:
        return _refusal(401, "Unauthorized", "only the front proxy of the API server may ask")
    request[_USER] = request.headers.get("X-Remote-User", "")
    try:
        return await handler(request)
    except web.HTTPNotFound:
        return _refusal(404, "NotFound", f"there is no {request.path}")


def _discover_resource(group_version: str, _values: MetricsValues) -> Any:
    return answers.resource_list(group_version, [("pods", "PodMetrics", ["get", "list"])])


def _discover_custom(group_version: str, values: MetricsValues) -> Any:
    resources = [(name, "MetricValueList", ["get"]) for name in values.custom_names()]
    return answers.resource_list(group_version, resources)


def _discover_external(group_version: str, values: MetricsValues) -> Any:
    resources = [(name, "ExternalMetricValueList", ["get"]) for name in values.external_names()]
    return answers.resource_list(group_version, resources)


def _pods(request: web.Request, values: MetricsValues) -> Any:
    selector = LabelSelector(request.query.get("labelSelector", ""))
    return answers.pod_metrics_list(values.pods(request.match_info.get("namespace"), selector))


def _custom(request: web.Request, values: MetricsValues) -> Any:
    at = request.match_info
    resource, name = at.get("resource", "namespaces"), at.get("name", at["namespace"])
    selector = LabelSelector(request.query.get("labelSelector", ""))
    metric_selector = LabelSelector(request.query.get("metricLabelSelector", ""))
    found = values.custom(at["namespace"], resource, name, at["metric"], (selector, metric_selector))
    return answers.custom_metrics_list(at["version"], at["metric"], found, metric_selector)


def _external(request: web.Request, values: MetricsValues) -> Any:
    at = request.match_info
    selector = LabelSelector(request.query.get("labelSelector", ""))
    found = values.external(at["namespace"], at["metric"], selector)
    return answers.external_metrics_list(at["metric"], found)


def _refusal(code: int, reason: str, message: str) -> web.Response:
    return _json(answers.failure(code, reason, message), code)


def _json(content: Any, status: int = 200) -> web.Response:
    # aiohttp would add a charset, which extension servers built on Kubernetes' own library do not send.
    return web.Response(body=json.dumps(content).encode(), status=status, headers={"Content-Type": _JSON})
