"""Our source before a Prometheus and an API server that a test plays."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from controller.decide.observed import Pod, PodRequests
from controller.decide.selectors import LabelSelector, Selector, parse
from controller.decide.spec import MetricIdentifier, Reference
from controller.kube.client import Client
from controller.kube.discovery import Discovery
from controller.ports import ExternalQuestion, ObjectQuestion, PodsQuestion
from controller.sources.assembly import Dependencies, OnePrometheus
from controller.sources.flags import SourceSettings
from controller.sources.prometheus.annotated import AnnotatedMetrics
from controller.sources.prometheus.server_settings import ServerSettings
from controller.sources.prometheus.source import PrometheusMetrics
from tests.adapters.parts import LoopClock, connected_to
from tests.adapters.raw_server import Received, answer, serving
from tests.sources.fake_prometheus import FakePrometheus

RULES = """\
rules:
- seriesQuery: '{namespace!=""}'
  resources: {template: <<.Resource>>}
  name: {matches: "^http_(.*)$"}
  metricsQuery: sum(<<.Series>>{<<.LabelMatchers>>}) by (<<.GroupBy>>)
externalRules:
- seriesQuery: '{namespace!=""}'
  resources: {overrides: {namespace: {resource: namespace}}}
  name: {matches: "^queue_(.*)$"}
  metricsQuery: sum(<<.Series>>{<<.LabelMatchers>>})
"""

SERVED: dict[str, Any] = {
    "/api": {"versions": ["v1"]},
    "/api/v1": {
        "resources": [
            {"name": name, "singularName": singular, "kind": kind, "namespaced": True}
            for name, singular, kind in (
                ("pods", "pod", "Pod"),
                ("pods/log", "", "Pod"),
                ("namespaces", "namespace", "Namespace"),
                ("nodes", "", "Node"),
            )
        ]
    },
    "/apis": {"groups": [{"name": "apps", "versions": [{"version": "v1"}], "preferredVersion": {"version": "v1"}}]},
    "/apis/apps": {"versions": [{"version": "v1"}], "preferredVersion": {"version": "v1"}},
    "/apis/apps/v1": {"resources": [{"name": "deployments", "singularName": "deployment", "kind": "Deployment"}]},
}


async def _api(received: Received, writer: asyncio.StreamWriter) -> None:
    body = SERVED.get(received.target)
    writer.write(answer(msgspec.json.encode(body)) if body else answer(b"{}", status="404 Not Found"))


def web_pods(namespace: str, selector: Selector) -> tuple[Pod, ...]:
    """Two that run, and one of another application that is about to."""
    pods = [Pod(name, {"app": "web"}, "Running", PodRequests(())) for name in ("web-0", "web-1")]
    starting = Pod("mail-0", {"app": "mail"}, "Pending", PodRequests(()))
    return tuple(pod for pod in (*pods, starting) if namespace == "default" and selector.matches(pod.labels))


@asynccontextmanager
async def asking(
    fake: FakePrometheus,
    folder: Path,
    *,
    rules: str = RULES,
    server: ServerSettings | None = None,
    relist_s: float = 60.0,
    sample_times: bool = False,
) -> AsyncIterator[PrometheusMetrics]:
    """The source that follows rules; answers are not shared beyond what is under way."""
    path = folder / "rules.yaml"
    path.write_text(rules)
    reached = server or ServerSettings(fake.url, timeout_s=2.0)
    settings = SourceSettings(
        {"custom": ("prometheus",)}, reached, str(path), relist_s=relist_s, sample_times=sample_times
    )
    async with serving(_api) as api, connected_to(api.url) as client:
        source = OnePrometheus(reached, settings, _around(client)).by_rules()
        try:
            yield source
        finally:
            await source.close()


@asynccontextmanager
async def asking_by_annotations(fake: FakePrometheus, *, sample_times: bool = False) -> AsyncIterator[AnnotatedMetrics]:
    """The source that answers what HPAs ask for themselves."""
    settings = SourceSettings(query_annotations=True, sample_times=sample_times)
    async with serving(_api) as api, connected_to(api.url) as client:
        source = OnePrometheus(ServerSettings(fake.url, timeout_s=2.0), settings, _around(client)).by_annotations()
        try:
            yield source
        finally:
            await source.close()


def _around(client: Client) -> Dependencies:
    discovery = Discovery(client, asyncio.get_running_loop().time)
    return Dependencies(
        client=client,
        discovery=discovery,
        clock=LoopClock(),
        pods=web_pods,
        period_s=0.0,
        instruments=CountedAges(),
    )


class CountedAges:
    """What was counted of ages, by family and source."""

    def __init__(self) -> None:
        self.aged: list[tuple[str, str, float]] = []
        self.undated: list[tuple[str, str, int]] = []
        self.left_out: list[tuple[str, str, int]] = []

    def sample_aged(self, family: str, source: str, age_s: float) -> None:
        self.aged.append((family, source, age_s))

    def samples_undated(self, family: str, source: str, count: int) -> None:
        self.undated.append((family, source, count))

    def samples_left_out(self, family: str, source: str, count: int) -> None:
        self.left_out.append((family, source, count))


def of_pods(metric: str, selector: LabelSelector | None = None) -> PodsQuestion:
    return PodsQuestion("default", MetricIdentifier(metric, selector), parse("app=web"))


def of_deployment(metric: str, name: str = "web") -> ObjectQuestion:
    return ObjectQuestion(
        "default", MetricIdentifier(metric, None), Reference(api_version="apps/v1", kind="Deployment", name=name)
    )


def external(metric: str, selector: LabelSelector | None = None) -> ExternalQuestion:
    return ExternalQuestion("default", MetricIdentifier(metric, selector))
