"""Of several controllers one leads, another takes over, and whoever has lost the Lease writes nothing."""

from __future__ import annotations

import asyncio
import datetime as dt
import signal
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio

from tests.e2e import autoscalers
from tests.e2e.controller_process import ControllerProcess
from tests.e2e.metrics_values import Series
from tests.e2e.roles import LEASE_NAMESPACE
from tests.e2e.waiting import alongside, wait_until
from tests.e2e.workload_kinds import DEPLOYMENT

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.e2e.audited import Audited
    from tests.e2e.control_plane import ControlPlane
    from tests.e2e.metrics_server import MetricsServer

LEASE_S = 3.0
RETRY_S = 0.5
SYNC_S = 0.25
FLAGS = (
    f"--leader-elect-lease-duration={LEASE_S:g}s",
    "--leader-elect-renew-deadline=2s",
    f"--leader-elect-retry-period={RETRY_S:g}s",
    f"--horizontal-pod-autoscaler-sync-period={SYNC_S * 1000:g}ms",
)
LEASES = f"/apis/coordination.k8s.io/v1/namespaces/{LEASE_NAMESPACE}/leases"


@pytest_asyncio.fixture(loop_scope="session")
async def load(
    control_plane: ControlPlane,
    controllers_may_control: None,  # noqa: ARG001  # controllers need their rights
    metrics_server: MetricsServer,
    namespace: str,
) -> AsyncIterator[None]:
    """An HPA that has something to write in every sync: its metric never stands still."""
    admin = control_plane.admin
    await admin.create(DEPLOYMENT.path(namespace), DEPLOYMENT.manifest("web", 2))
    metrics = [autoscalers.external("queue", averageValue="1")]
    manifest = autoscalers.manifest("web", autoscalers.reference(DEPLOYMENT, "web"), metrics, maximum=1000)
    await admin.create(autoscalers.path(namespace), manifest)

    async def change() -> None:
        replicas = 2
        while True:
            # Up and down by turns, so that scales are written as well.
            replicas = 5 - replicas
            metrics_server.values.set_external(namespace, "queue", Series(str(replicas)))
            await asyncio.sleep(0.3)

    async with alongside(change()):
        yield


def contender(plane: ControlPlane, name: str, lease: str) -> Any:
    return ControllerProcess.start(plane, name, *FLAGS, f"--leader-elect-resource-name={lease}")


def guarded(requests: list[Audited]) -> list[Audited]:
    """The writes that only a leader may send."""
    return [request for request in requests if request.writes and request.resource != "leases"]


async def writes(controller: ControllerProcess, start: int, timeout_s: float = 10.0) -> None:
    """Returns when the controller has scaled something since a position in the audit log."""

    async def written() -> bool:
        return any(each.accepted and "/scale" in each.resource for each in guarded(controller.requests(start)))

    await wait_until(written, f"{controller.process.name} to scale", timeout_s=timeout_s)


async def between_syncs(controller: ControllerProcess, start: int) -> None:
    """Returns when a sync since a position in the audit log is over and the next one has not begun.

    What has been let go no signal can hold.
    """

    async def over() -> bool:
        received = [each.received for each in guarded(controller.requests(start))]
        now = dt.datetime.now(dt.UTC)  # noqa: TID251 - the audit log is dated by the wall clock
        return bool(received) and SYNC_S / 4 <= (now - max(received)).total_seconds() <= SYNC_S / 2

    await wait_until(over, f"{controller.process.name} to be between two syncs", poll_s=SYNC_S / 10)


async def stands_by(controller: ControllerProcess) -> None:
    """Returns when the controller has put off a few syncs because it does not lead."""

    async def put_off() -> bool:
        metrics = await controller.metrics()
        return metrics.total("hpa_controller_syncs_postponed_total", reason="not-leading") >= 3

    await wait_until(put_off, f"{controller.process.name} to put off syncs")


@pytest.mark.usefixtures("load")
async def test_the_standby_takes_over_when_the_leader_stops(control_plane: ControlPlane) -> None:
    async with AsyncExitStack() as stack:
        first = await stack.enter_async_context(contender(control_plane, "first-to-stop", "stopping"))
        await first.logged("leading", lease=f"{LEASE_NAMESPACE}/stopping", term=1)
        second = await stack.enter_async_context(contender(control_plane, "next-to-lead", "stopping"))
        await writes(first, 0)
        await stands_by(second)
        held = (await control_plane.admin.get(f"{LEASES}/stopping"))["spec"]
        (told,) = second.logs("standing by")
        assert told["holder"] == held["holderIdentity"] == first.logs("leading")[0]["identity"]
        assert (held["leaseDurationSeconds"], held["leaseTransitions"]) == (LEASE_S, 0)
        assert guarded(second.requests()) == [], "a standby reads only"
        assert (await second.health())[0] == 200, "and is ready all the same"
        assert (await first.metrics()).total("hpa_controller_leading") == 1
        assert (await second.metrics()).total("hpa_controller_leading") == 0

        start = control_plane.audit_log.position()
        await first.stop()
        await second.logged("leading", lease=f"{LEASE_NAMESPACE}/stopping", term=1)
        await writes(second, start)
        released = [each for each in first.requests(start) if each.about("leases")][-1]
        assert released.accepted
        assert released.sent["spec"]["holderIdentity"] == ""
        assert all(each.received <= released.received for each in guarded(first.requests(start)))
        # It took the next attempt, not the end of the Lease.
        taken = next(each for each in second.requests(start) if each.about("leases") and each.writes)
        assert (taken.received - released.received).total_seconds() < LEASE_S / 2
        held = (await control_plane.admin.get(f"{LEASES}/stopping"))["spec"]
        assert held["leaseTransitions"] == 1


@pytest.mark.usefixtures("load")
async def test_the_standby_waits_for_the_end_of_a_killed_leaders_lease(control_plane: ControlPlane) -> None:
    async with AsyncExitStack() as stack:
        first = await stack.enter_async_context(contender(control_plane, "first-to-die", "dying"))
        await first.logged("leading", lease=f"{LEASE_NAMESPACE}/dying", term=1)
        second = await stack.enter_async_context(contender(control_plane, "next-of-kin", "dying"))
        await writes(first, 0)
        start = control_plane.audit_log.position()
        first.process.kill()
        await second.logged("leading", lease=f"{LEASE_NAMESPACE}/dying", term=1)
        await writes(second, start)
        lease = [each for each in first.requests() if each.about("leases") and each.accepted and each.writes][-1]
        taken = next(each for each in second.requests(start) if each.about("leases") and each.writes)
        waited_s = (taken.received - lease.received).total_seconds()
        assert waited_s >= LEASE_S, "nobody may lead earlier"
        assert waited_s < LEASE_S + 4 * RETRY_S
        assert all(each.received > taken.received for each in guarded(second.requests()))


@pytest.mark.usefixtures("load")
async def test_a_leader_that_was_stopped_for_long_writes_nothing_before_it_leads_again(
    control_plane: ControlPlane,
) -> None:
    async with AsyncExitStack() as stack:
        first = await stack.enter_async_context(contender(control_plane, "sleeper", "sleeping"))
        await first.logged("leading", lease=f"{LEASE_NAMESPACE}/sleeping", term=1)
        second = await stack.enter_async_context(contender(control_plane, "watchful", "sleeping"))
        await writes(first, 0)
        start = control_plane.audit_log.position()
        await between_syncs(first, start)
        first.process.signal(signal.SIGSTOP)
        await second.logged("leading", lease=f"{LEASE_NAMESPACE}/sleeping", term=1)
        await writes(second, start)
        woken = control_plane.audit_log.position()
        first.process.signal(signal.SIGCONT)
        await first.logged("no longer leading", lease=f"{LEASE_NAMESPACE}/sleeping")
        await stands_by(first)
        assert guarded(first.requests(woken)) == []
        await writes(second, woken)

        handed_over = control_plane.audit_log.position()
        await second.stop()
        await first.logged("leading", lease=f"{LEASE_NAMESPACE}/sleeping", term=2)
        await writes(first, handed_over)
        assert (await control_plane.admin.get(f"{LEASES}/sleeping"))["spec"]["leaseTransitions"] == 2
        lease = next(each for each in first.requests(woken) if each.about("leases") and each.accepted and each.writes)
        assert all(each.received > lease.received for each in guarded(first.requests(woken)))
        check_fencing(first.requests(), second.requests())


def check_fencing(first: list[Audited], second: list[Audited]) -> None:
    """No accepted write rests on a read that is older than the first write of whoever led in between."""
    for mine, others in ((first, second), (second, first)):
        for write in guarded(mine):
            if not write.accepted or "/scale" not in write.resource:
                continue
            version = int(write.sent["metadata"]["resourceVersion"])
            later = [
                int(other.got["metadata"]["resourceVersion"])
                for other in guarded(others)
                if other.accepted and "/scale" in other.resource and other.received < write.received
            ]
            assert version >= max(later, default=0), "a write must know of what the other has written"
