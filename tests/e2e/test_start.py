"""What the controller tells of itself from its first moment on: health pages, and numbers of a load's whole story."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from tests.e2e import autoscalers
from tests.e2e.accounts import Account, controller_account
from tests.e2e.controller_process import ControllerProcess, Metrics
from tests.e2e.holding_proxy import HoldingProxy
from tests.e2e.metrics_values import Series
from tests.e2e.operator_views import UPSTREAM
from tests.e2e.waiting import wait_until
from tests.e2e.workload import WorkloadPlayer
from tests.e2e.workload_kinds import DEPLOYMENT

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.e2e.control_plane import ControlPlane
    from tests.e2e.metrics_server import MetricsServer

NAME = "slow-start"


@pytest_asyncio.fixture(loop_scope="session")
async def proxy(control_plane: ControlPlane) -> AsyncIterator[HoldingProxy]:
    await control_plane.ensure_running()
    async with HoldingProxy.start(control_plane) as running:
        yield running


@pytest_asyncio.fixture(loop_scope="session")
async def account(
    control_plane: ControlPlane,
    controllers_may_control: None,  # noqa: ARG001  # it defines the roles
    proxy: HoldingProxy,
) -> Account:
    return await controller_account(control_plane, NAME, proxy.url)


async def health(controller: ControllerProcess, status: int, *lines: str) -> None:
    """Returns when the page of readiness shows this."""
    expected = (status, "\n".join((*lines, "")))

    async def shown() -> bool:
        seen = await controller.health("/readyz?verbose")
        assert seen[0] == status, f"not yet, or no longer: {seen}"
        return seen == expected

    await wait_until(shown, f"the page of readiness to be {expected}")


async def test_readiness_names_each_cache_that_is_missing(
    control_plane: ControlPlane, account: Account, proxy: HoldingProxy
) -> None:
    start = ControllerProcess.start(control_plane, NAME, kubeconfig=account.kubeconfig, user=account.user, ready=False)
    with (
        proxy.holding("GET", "/horizontalpodautoscalers") as autoscalers_held,
        proxy.holding("GET", "/api/v1/pods") as pods_held,
    ):
        async with start as controller:
            await autoscalers_held.caught()
            await pods_held.caught()
            both = "[-]caches failed: not listed yet: horizontalpodautoscalers, pods"
            await health(controller, 500, both, "readyz check failed")
            assert await controller.health("/livez") == (200, "ok"), "a restart would not help"
            assert await controller.health("/healthz") == (200, "ok")
            pods_held.release()
            one = "[-]caches failed: not listed yet: horizontalpodautoscalers"
            await health(controller, 500, one, "readyz check failed")
            metrics = await controller.metrics()
            assert metrics.syncs() == 0
            assert metrics.total("hpa_controller_watch_alive", resource="horizontalpodautoscalers") == 0
            assert metrics.total("hpa_controller_watch_alive", resource="pods") == 1
            assert not controller.logs("caches are filled")
            autoscalers_held.release()
            await controller.wait_ready()
            await health(controller, 200, "[+]caches ok", "readyz check passed")
            assert await controller.health("/readyz") == (200, "ok")
            await controller.logged("caches are filled")


@pytest.mark.usefixtures("controllers_may_control")
async def test_numbers_of_an_hpa_from_its_first_sync_to_its_end(
    control_plane: ControlPlane, metrics_server: MetricsServer, namespace: str
) -> None:
    admin = control_plane.admin
    metrics_server.values.set_external(namespace, "queue", Series("40"))
    await admin.create(DEPLOYMENT.path(namespace), DEPLOYMENT.manifest("web", 2))
    at = {"namespace": namespace, "hpa_name": "web"}
    async with (
        WorkloadPlayer(admin, DEPLOYMENT, namespace, "web") as player,
        ControllerProcess.start(control_plane, "numbers") as controller,
    ):
        await player.settled(2)
        before = await controller.metrics()
        metrics = [autoscalers.external("queue", averageValue="10")]
        manifest = autoscalers.manifest("web", autoscalers.reference(DEPLOYMENT, "web"), metrics)
        await admin.create(autoscalers.path(namespace), manifest)
        for load, replicas in (("40", 4), ("10", 1)):
            metrics_server.values.set_external(namespace, "queue", Series(load))
            await player.settled(replicas)
            await desired(controller, replicas, **at)
        after = await controller.metrics()
        for action in ("scale_up", "scale_down"):
            counted = {"action": action, "error": "none"}
            # As often as the target was written, in all of the cluster: it has no other HPA with a load.
            assert grown(before, after, f"{UPSTREAM}_reconciliations_total", **counted) == 1
            assert grown(before, after, f"{UPSTREAM}_reconciliation_duration_seconds_count", **counted) == 1
            counted["metric_type"] = "External"
            # It is compared with the status, which may be a sync behind (§17.4).
            assert grown(before, after, f"{UPSTREAM}_metric_computation_total", **counted) >= 1
            assert grown(before, after, f"{UPSTREAM}_metric_computation_duration_seconds_count", **counted) >= 1
        assert grown(before, after, f"{UPSTREAM}_num_horizontal_pod_autoscalers") == 1
        assert grown(before, after, "workqueue_work_duration_seconds_count", name="horizontalpodautoscaler") >= 2
        await admin.delete(autoscalers.path(namespace, "web"))

        async def gone() -> bool:
            now = await controller.metrics()
            return grown(before, now, f"{UPSTREAM}_num_horizontal_pod_autoscalers") == 0

        await wait_until(gone, "the deleted HPA not to be counted any more")
        # Upstream never removes this series (§17.5).
        assert (await controller.metrics()).total(f"{UPSTREAM}_desired_replicas", **at) == 1


async def desired(controller: ControllerProcess, replicas: int, **labels: str) -> None:
    """Returns when the controller publishes so many replicas for an HPA."""

    async def published() -> bool:
        return (await controller.metrics()).total(f"{UPSTREAM}_desired_replicas", **labels) == replicas

    await wait_until(published, f"{replicas} replicas to be published")


def grown(before: Metrics, after: Metrics, sample: str, **labels: str) -> float:
    """By how much a number has grown."""
    return after.total(sample, **labels) - before.total(sample, **labels)
