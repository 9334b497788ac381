"""The whole controller in process, against the embedded API server over HTTP."""

import asyncio
import gc
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import pytest
from msgspec.structs import replace

from controller.app import App
from controller.cli.main import Parser
from controller.decide.instants import NANOSECONDS, Now
from controller.kube.credentials import NoCredentials
from controller.kube.kubeconfig import Access, load
from controller.kube.reach import Unreached
from controller.lab.faults import Refuse, Target
from controller.lab.metrics_feed import Sample
from controller.lab.server import LabServer
from controller.parts import Parts
from controller.ports import Sync
from controller.run_flags import add_flags
from controller.schedule import Schedule
from controller.settings import RunSettings, SettingsError, from_arguments
from controller.telemetry.server import BindError
from tests.adapters.parts import access_to
from tests.spine.objects import autoscaler

QUICK = ("--horizontal-pod-autoscaler-sync-period=100ms", "--leader-elect-resource-namespace=default")
ELECTION = (
    "--leader-elect-lease-duration=2s",
    "--leader-elect-renew-deadline=1500ms",
    "--leader-elect-retry-period=100ms",
)
NOWHERE = tuple(f"--{name}-bind-address=0" for name in ("metrics", "health-probe", "introspection"))
_PATIENCE_S = 30.0


def settings(*flags: str) -> RunSettings:
    parser = Parser(allow_abbrev=False)
    add_flags(parser)
    return from_arguments(parser.parse_args([*QUICK, *ELECTION, *NOWHERE, *flags]))


@pytest.fixture
async def lab() -> AsyncIterator[LabServer]:
    """A cluster with one Deployment of two pods' size and an HPA that wants four."""
    async with LabServer() as server:
        cluster = server.cluster
        spec = {
            "replicas": 2,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "a", "image": "a"}]}},
        }
        cluster.create("deployments.apps", {"metadata": {"name": "web"}, "spec": spec})
        metric = {"metric": {"name": "backlog"}, "target": {"type": "AverageValue", "averageValue": "10"}}
        hpa = {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "maxReplicas": 8,
            "metrics": [{"type": "External", "external": metric}],
        }
        cluster.create("horizontalpodautoscalers.autoscaling", {"metadata": {"name": "web"}, "spec": hpa})
        cluster.metrics.set_external("default", "backlog", Sample("40"))
        yield server


def access(lab: LabServer, folder: Path) -> Access:
    path = folder / "kubeconfig"
    lab.write_kubeconfig(path)
    return load(str(path), environment={})


class Running:
    """A controller at work."""

    def __init__(self, app: App, stop: asyncio.Event, task: asyncio.Task[None], syncs: list[Sync]) -> None:
        self.app = app
        self.stop = stop
        self.task = task
        self.syncs = syncs

    async def stopped(self) -> None:
        self.stop.set()
        await asyncio.wait_for(self.task, _PATIENCE_S)


@asynccontextmanager
async def running(where: Access, *flags: str) -> AsyncIterator[Running]:
    syncs: list[Sync] = []
    app, stop = App(Parts(settings(*flags), where, observers=(syncs.append,))), asyncio.Event()
    task = asyncio.create_task(app.run(stop))
    try:
        yield Running(app, stop, task, syncs)
    finally:
        stop.set()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def until(reached: Callable[[], Any], what: str) -> None:
    async with asyncio.timeout(_PATIENCE_S):
        while not reached():  # noqa: ASYNC110 - the state of a server has no event to wait for
            await asyncio.sleep(0.02)
    assert reached(), what


def replicas(lab: LabServer) -> int:
    return int(lab.cluster.scale("deployments.apps", "web")["spec"]["replicas"])


async def test_it_scales_writes_the_status_and_tells_an_event(lab: LabServer, tmp_path: Path) -> None:
    async with running(access(lab, tmp_path)) as controller:
        await until(lambda: replicas(lab) == 4, "four replicas")
        await until(lambda: len(controller.syncs) > 3, "more syncs")
        await controller.stopped()
    status = lab.cluster.get("horizontalpodautoscalers.autoscaling", "web")["status"]
    assert status["desiredReplicas"] == 4
    assert "SuccessfulRescale" in {event["reason"] for event in lab.cluster.list("events", "default")}


async def test_stopping_leaves_no_task_no_socket_and_no_lease_behind(lab: LabServer, tmp_path: Path) -> None:
    before = asyncio.all_tasks()
    async with running(access(lab, tmp_path)) as controller:
        await until(lambda: controller.syncs, "a sync")
        await controller.stopped()
        left = asyncio.all_tasks() - before - {asyncio.current_task()}
        assert {
            task.get_name() for task in left if "lab" not in repr(task) and "aiohttp/web" not in repr(task)
        } == set()
    assert lab.cluster.get("leases.coordination.k8s.io", "hpa-controller")["spec"]["holderIdentity"] in ("", None)
    gc.collect()  # an unclosed session or socket would warn here, and warnings are errors


async def test_one_of_two_leads_and_the_other_takes_over(lab: LabServer, tmp_path: Path) -> None:
    where = access(lab, tmp_path)
    async with running(where) as first:
        await until(lambda: first.syncs, "the first to lead")
        async with running(where) as second:
            await until(lambda: replicas(lab) == 4, "four replicas")
            await asyncio.sleep(0.5)
            assert not second.syncs, "who stands by decides nothing"
            await first.stopped()
            await until(lambda: second.syncs, "the second to lead")


class HostClock:
    """The clock of a host that was booted at `boot_s`, in seconds since 1970."""

    def __init__(self, boot_s: float) -> None:
        self._boot_s = boot_s

    def now(self) -> Now:
        passed_s = asyncio.get_running_loop().time()
        return Now(round((self._boot_s + passed_s) * NANOSECONDS), round(passed_s * NANOSECONDS))


@pytest.mark.looptime
@pytest.mark.parametrize("boot_s", [1_795_000_000.0, 1_795_000_007.3, 1_795_612_345.678])
async def test_an_hpa_is_due_in_the_same_moment_whichever_host_leads(boot_s: float) -> None:
    """So a failover does not have it synced sooner than a period after the last sync (§28.9)."""
    parts = Parts(
        settings("--horizontal-pod-autoscaler-sync-period=15s"),
        access_to("http://127.0.0.1:9"),
        clock=HostClock(boot_s),
    )
    metadata = msgspec.json.encode({"name": "web", "creationTimestamp": "2020-01-01T00:00:00Z"})
    parts.autoscalers.put(replace(autoscaler(), metadata=metadata))
    due = await parts.queue.take()
    await parts.connection.close()
    expected_s = Schedule(15.0, lambda: 1).joins_due_s(due.key, 0.0)
    assert (boot_s + due.due_s) % 15.0 == pytest.approx(expected_s % 15.0, abs=1e-5)


async def test_without_an_api_server_it_says_so(tmp_path: Path) -> None:
    lab = LabServer()
    await lab.start()
    where = access(lab, tmp_path)
    await lab.stop()
    lab.faults.inject(Refuse(500))
    async with running(msgspec.structs.replace(where, server=lab.url)) as controller:
        with pytest.raises(
            Unreached, match=r"cannot be reached: cannot connect to 127\.0\.0\.1:\d+: connection refused"
        ):
            await asyncio.wait_for(controller.task, _PATIENCE_S)


async def test_the_control_planes_own_lease_is_refused_wherever_its_namespace_comes_from() -> None:
    """In a pod it is the pod's own."""
    chosen = replace(settings("--leader-elect-resource-name=kube-controller-manager"), lease_namespace="")
    with pytest.raises(SettingsError, match="is the control plane's own Lease"):
        Parts(chosen, access_to("https://127.0.0.1:1", namespace="kube-system"))


@pytest.mark.parametrize("name", ["metrics", "health-probe", "introspection"])
async def test_a_taken_port_is_named(lab: LabServer, tmp_path: Path, name: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as holder:
        port = holder.getsockname()[1]
        async with running(access(lab, tmp_path), f"--{name}-bind-address=127.0.0.1:{port}") as controller:
            with pytest.raises(
                BindError,
                match=rf"cannot listen on 127\.0\.0\.1:{port} \(--{name}-bind-address\): address already in use",
            ):
                await asyncio.wait_for(controller.task, _PATIENCE_S)


async def test_it_is_ready_once_hpas_and_pods_are_listed_and_names_what_is_missing(
    lab: LabServer, tmp_path: Path
) -> None:
    forbidden = lab.faults.inject(Refuse(403, message="pods is forbidden"), Target(path_prefix="/api/v1/pods"))
    async with (
        running(access(lab, tmp_path), "--health-probe-bind-address=127.0.0.1:0") as controller,
        aiohttp.ClientSession(trust_env=False) as session,
    ):
        health = controller.app.parts.pages.health
        await until(lambda: health.port, "the listener")

        async def page(path: str) -> tuple[int, str]:
            try:
                async with session.get(f"http://127.0.0.1:{health.port}{path}") as answer:
                    return answer.status, await answer.text()
            except aiohttp.ClientConnectionError:
                return 0, ""

        async def answered(path: str, wanted: Callable[[tuple[int, str]], bool]) -> None:
            async with asyncio.timeout(_PATIENCE_S):
                while not wanted(await page(path)):  # noqa: ASYNC110 - as above
                    await asyncio.sleep(0.02)

        await answered("/readyz", lambda said: said[0] == 500 and "not listed yet: pods\n" in said[1])
        assert (await page("/healthz")) == (200, "ok")
        assert not controller.syncs, "nothing is decided without pods"
        forbidden.remove()
        await answered("/readyz", lambda said: said == (200, "ok"))
        await until(lambda: controller.syncs, "a sync")


async def test_of_two_namespaces_only_the_named_one_is_looked_at(lab: LabServer, tmp_path: Path) -> None:
    cluster = lab.cluster
    cluster.create("namespaces", {"metadata": {"name": "bank"}})
    for resource in ("deployments.apps", "horizontalpodautoscalers.autoscaling"):
        found = cluster.get(resource, "web")
        cluster.create(resource, {"metadata": {"name": "web", "namespace": "bank"}, "spec": found["spec"]})
    cluster.metrics.set_external("bank", "backlog", Sample("40"))
    for path in ("/apis/autoscaling/v2/horizontal", "/api/v1/pods", "/apis/apps/v1/deployments"):
        lab.faults.inject(Refuse(403, message="the whole cluster is forbidden"), Target(path_prefix=path))
    async with running(access(lab, tmp_path), "--namespaces=bank,empty") as controller:
        await until(lambda: cluster.scale("deployments.apps", "web", "bank")["spec"]["replicas"] == 4, "four replicas")
        await until(lambda: len(controller.syncs) > 5, "more syncs")
        await controller.stopped()
    assert replicas(lab) == 2
    assert {sync.autoscaler.key for sync in controller.syncs} == {"bank/web"}


@pytest.mark.parametrize("requests", [0, 1, 3, 6])
async def test_it_can_be_stopped_at_any_moment_of_its_start(lab: LabServer, tmp_path: Path, requests: int) -> None:
    before = lab.requests.total
    async with running(access(lab, tmp_path)) as controller:
        await until(lambda: lab.requests.total - before >= requests, f"{requests} requests")
        await controller.stopped()


async def test_it_can_be_stopped_while_the_api_server_does_not_answer() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(0)
        where = Access(f"http://127.0.0.1:{silent.getsockname()[1]}", "a server that hangs", NoCredentials())
        async with running(where) as controller:
            connection, _ = await asyncio.wait_for(asyncio.get_running_loop().sock_accept(silent), _PATIENCE_S)
            with connection:
                await controller.stopped()


async def test_it_goes_on_when_the_api_server_was_away(lab: LabServer, tmp_path: Path) -> None:
    async with running(access(lab, tmp_path), "--leader-elect=false") as controller:
        await until(lambda: replicas(lab) == 4, "four replicas")
        await lab.restart(0.3)
        lab.cluster.metrics.set_external("default", "backlog", Sample("60"))
        await until(lambda: replicas(lab) == 6, "six replicas")
        await controller.stopped()


async def test_with_keep_history_the_next_one_goes_on_where_the_last_one_ended(lab: LabServer, tmp_path: Path) -> None:
    where = access(lab, tmp_path)
    async with running(where, "--keep-history") as first:
        await until(lambda: replicas(lab) == 4, "four replicas")
        await first.stopped()
    ended = first.syncs[-1].conclusion.history.recommendations or ()
    async with running(where, "--keep-history") as second:
        await until(lambda: second.syncs, "the second to lead")
        begun = second.syncs[0].history.recommendations or ()
        assert [entry.replicas for entry in begun] == [2, 4]
        # Of several that asked for four the last one is kept; wall and monotonic time may drift apart a little.
        assert abs(begun[0].at_ns - ended[0].at_ns) <= 2_000_000
        assert abs(begun[1].at_ns - ended[-1].at_ns) <= 2_000_000
        await second.stopped()
    async with running(where) as third:
        await until(lambda: third.syncs, "the third to lead")
        assert third.syncs[0].history.recommendations is None, "without the flag it begins anew"
        await third.stopped()


async def test_a_standby_that_takes_over_has_what_the_leader_kept(lab: LabServer, tmp_path: Path) -> None:
    where = access(lab, tmp_path)
    async with running(where, "--keep-history") as first, running(where, "--keep-history") as second:
        await until(lambda: first.syncs or second.syncs, "one of them to lead")
        leader, standby = (first, second) if first.syncs else (second, first)
        await until(lambda: replicas(lab) == 4, "four replicas")
        await leader.stopped()
        ended = leader.syncs[-1].conclusion.history.recommendations or ()
        await until(lambda: standby.syncs, "the other to lead")
        sync = standby.syncs[0]
        assert sync.taken_up
        assert [entry.replicas for entry in sync.history.recommendations or ()] == [2, 4]
        assert abs((sync.history.recommendations or ())[-1].at_ns - ended[-1].at_ns) <= 2_000_000
        await standby.stopped()
