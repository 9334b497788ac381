"""The real prometheus-adapter and our source on one Prometheus: the same rules and moments, the same values."""

from __future__ import annotations

import asyncio
import dataclasses
import time
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from controller.clock import SystemClock
from controller.decide.observed import Pod, PodRequests
from controller.kube.discovery import Discovery
from controller.kube.kubeconfig import load
from controller.sources.assembly import Dependencies, OnePrometheus
from controller.sources.flags import SourceSettings
from controller.sources.prometheus.server_settings import ServerSettings
from tests.adapters.parts import connected
from tests.e2e.api_client import CONNECTION_ERRORS, ApiError
from tests.e2e.namespaces import create_namespace, delete_namespace
from tests.e2e.pods import NODE, running_status
from tests.e2e.prometheus.both_sides import (
    SELECTORS,
    adapter_custom,
    adapter_external,
    adapter_usage,
    our_custom,
    our_external,
    our_usage,
)
from tests.e2e.prometheus.pinning_proxy import PinningProxy
from tests.e2e.prometheus.programs import Prometheus, adapter, make_blocks
from tests.e2e.prometheus.stored_series import PODS, open_metrics, stored_series
from tests.e2e.waiting import wait_until
from tests.sources.asking import CountedAges

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from controller.decide.selectors import Selector
    from controller.sources.prometheus.source import PrometheusMetrics
    from tests.e2e.api_client import ApiClient
    from tests.e2e.control_plane import ControlPlane

RULES = sorted((Path(__file__).parent / "rules").glob("*.yaml"))
SELECTOR = "app=web"
OBJECTS = ("web", "api", "nobody")
UNREACHABLE = ("nodes", "persistentvolumes")


@dataclasses.dataclass
class Stage:
    """The cluster, its namespace, and the one Prometheus behind a proxy that pins time."""

    plane: ControlPlane
    namespace: str
    proxy: PinningProxy
    end_s: int


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def stage(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    await control_plane.ensure_running()
    namespace = await create_namespace(control_plane.admin, "prometheus")
    for name in PODS:
        await _create_pod(control_plane.admin, namespace, name)
    folder = tmp_path_factory.mktemp("prometheus")
    end_s = int(time.time()) - 60  # noqa: TID251 - samples are dated by the wall clock
    await make_blocks(open_metrics(stored_series(namespace), end_s), folder)
    async with (
        Prometheus.start(folder, control_plane.files.logs / "prometheus.log") as server,
        PinningProxy.start(server.url, end_s) as proxy,
    ):
        yield Stage(control_plane, namespace, proxy, end_s)
    await delete_namespace(control_plane.admin, namespace)


async def _create_pod(admin: ApiClient, namespace: str, name: str) -> None:
    pods = f"/api/v1/namespaces/{namespace}/pods"
    containers = [{"name": container, "image": "none"} for container in ("app", "sidecar")]
    metadata = {"name": name, "labels": {"app": "web"}}
    spec = {"nodeName": NODE, "containers": containers}
    pod = await admin.create(pods, {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
    await admin.patch(f"{pods}/{name}/status", {"status": running_status(pod)})


@asynccontextmanager
async def our_source(stage: Stage, rules: Path) -> AsyncIterator[PrometheusMetrics]:
    """Our source as `run` makes it, but for the pods, which it takes from a list."""
    pods = tuple(Pod(name, {"app": "web"}, "Running", PodRequests(())) for name in PODS)

    def matching(namespace: str, selector: Selector) -> tuple[Pod, ...]:
        return tuple(pod for pod in pods if namespace == stage.namespace and selector.matches(pod.labels))

    reached = ServerSettings(stage.proxy.url)
    settings = SourceSettings({"custom": ("prometheus",)}, reached, str(rules), series_age_max_s=7200.0)
    access = load(str(stage.plane.admin_kubeconfig), environment={})
    async with connected(access, SystemClock()) as client:
        clock = SystemClock()
        discovery = Discovery(client, asyncio.get_running_loop().time)
        # A period of 0: no answer may outlive the moment that the proxy has pinned.
        around = Dependencies(
            client=client,
            discovery=discovery,
            clock=clock,
            pods=matching,
            period_s=0.0,
            instruments=CountedAges(),
        )
        source = OnePrometheus(reached, settings, around).by_rules()
        try:
            yield source
        finally:
            await source.close()


@pytest.mark.parametrize("rules", RULES, ids=lambda path: path.stem)
async def test_same_values(stage: Stage, rules: Path) -> None:
    name = f"adapter-{rules.stem.replace('_', '-')}"
    async with adapter(stage.plane, rules, stage.proxy.url, name) as url, our_source(stage, rules) as ours:
        theirs = stage.plane.client(stage.plane.files.admin, url)
        custom, external = await _known(theirs, ours)
        assert custom or external
        differences: list[str] = []
        # All selectors once, and once more all values of another moment.
        for before_s, sought in ((1.0, tuple(SELECTORS)), (127.5, ("",))):
            stage.proxy.moment_s = stage.end_s - before_s
            for resource, metric in sorted(custom):
                differences += await _custom_differences(stage, theirs, ours, resource, metric, sought)
            for metric in sorted(external):
                differences += await _external_differences(stage, theirs, ours, metric, sought)
            if has_usage_rules(rules):
                differences += await _usage_differences(stage, theirs, ours)
        assert not differences, "\n".join(differences)


def has_usage_rules(rules: Path) -> bool:
    return "resourceRules" in rules.read_text()


async def _known(theirs: ApiClient, ours: PrometheusMetrics) -> tuple[frozenset[tuple[str, str]], frozenset[str]]:
    """The metrics that both know, once they know the same."""

    async def agreed() -> tuple[frozenset[tuple[str, str]], frozenset[str]]:
        listed = await _listed(theirs, "custom.metrics.k8s.io")
        custom = frozenset(
            (resource, metric)
            for resource, _, metric in (name.partition("/") for name in listed)
            if resource not in UNREACHABLE
        )
        external = frozenset(await _listed(theirs, "external.metrics.k8s.io"))
        known = await ours.known()
        if known != (custom, external):
            raise _DisagreementError(known[0] ^ custom, known[1] ^ external)
        return known

    return await wait_until(
        agreed,
        "both to know the same metrics",
        timeout_s=20.0,
        poll_s=0.3,
        ignoring=(_DisagreementError, *CONNECTION_ERRORS),
    )


class _DisagreementError(Exception):
    """What only one of both knows."""


async def _listed(client: ApiClient, group: str) -> list[str]:
    try:
        return [entry["name"] for entry in (await client.get(f"/apis/{group}/v1beta1"))["resources"] or []]
    except ApiError:
        return []  # the adapter serves no group that it has no rules for


async def _custom_differences(
    stage: Stage, theirs: ApiClient, ours: PrometheusMetrics, resource: str, metric: str, selectors: Sequence[str]
) -> list[str]:
    names: tuple[str, ...] = {"pods": (SELECTOR,), "namespaces": (stage.namespace,)}.get(resource, OBJECTS)
    found, samples = [], 0
    for sought in selectors:
        for name in names:
            expected = await adapter_custom(theirs, stage.namespace, resource, name, metric, sought)
            actual = await our_custom(ours, stage.namespace, resource, name, metric, sought)
            samples += 0 if sought else len(expected)
            if expected != actual:
                found.append(f"{resource} {name} {metric} [{sought}]: adapter {expected}, ours {actual}")
    assert samples, f"the adapter has no sample of {metric} for {resource}, so nothing was compared"
    return found


async def _external_differences(
    stage: Stage, theirs: ApiClient, ours: PrometheusMetrics, metric: str, selectors: Sequence[str]
) -> list[str]:
    found = []
    for sought in selectors:
        expected = await adapter_external(theirs, stage.namespace, metric, sought)
        actual = await our_external(ours, stage.namespace, metric, sought)
        assert expected or sought, f"the adapter has no sample of {metric}, so nothing was compared"
        if expected != actual:
            found.append(f"external {metric} [{sought}]: adapter {expected}, ours {actual}")
    return found


async def _usage_differences(stage: Stage, theirs: ApiClient, ours: PrometheusMetrics) -> list[str]:
    async def informed() -> dict[str, object]:
        return await adapter_usage(theirs, stage.namespace, SELECTOR)

    expected = await wait_until(informed, "the adapter to know of the pods", timeout_s=10.0)
    assert set(expected) == set(PODS)
    actual = await our_usage(ours, stage.namespace, SELECTOR)
    return [] if expected == actual else [f"usage: adapter {expected}, ours {actual}"]
