"""As much of a cluster as finding a controller takes: Leases, pods, and a kubelet that forwards ports."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
from aiohttp import WSMsgType, web

from controller.decide.instants import Now
from controller.decide.result import Written
from controller.ports import Sync, WatchedAutoscaler
from controller.telemetry.explanations import Standing, explain_route
from controller.traces import Traces
from tests.builders import DEFAULTS, cpu, history, hpa, now, observation, scale, usage
from tests.decide.syncs import sync

LEASES = "/apis/coordination.k8s.io/v1/leases"
POD = "hpa-controller-7d9f-abcde"
WAIT_S = 10

Say = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Follower:
    leading = False
    holder = "other_1"


def traced(replicas: int, used_milli: int, at: Now | None = None) -> Sync:
    asked = hpa(cpu(60), namespace="shop")
    seen = observation(scale(replicas), usage(*[used_milli] * replicas), overlapping=("shop/web",))
    came = sync(asked, seen, history((3, -15)))
    watched = WatchedAutoscaler("shop", "web", "uid", "1", asked.spec, seen.status)
    write = Written() if came.decision.rescales else None
    decided = at or now()
    return Sync(watched, seen, history((3, -15)), decided, came.decision, write, came.conclusion, decided)


def remembered(*syncs: Sync) -> Traces:
    traces = Traces(DEFAULTS)
    for one in syncs:
        traces(one)
    return traces


def known(key: str) -> WatchedAutoscaler | None:
    watched = traced(3, 600).autoscaler
    return {"shop/web": watched, "shop/new": watched}.get(key)


def page(election: Follower | None = None) -> Say:
    return explain_route(remembered(traced(3, 600), traced(3, 1600)), Standing(known, election, "us_1"))


def lease(holder: str = f"{POD}_8f14e45f", namespace: str = "kube-system") -> dict[str, Any]:
    return {"metadata": {"name": "hpa-controller", "namespace": namespace}, "spec": {"holderIdentity": holder}}


def pod(*arguments: str, phase: str = "Running", name: str = POD) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "namespace": "kube-system"},
        "spec": {"containers": [{"command": ["hpa-controller", "run"], "args": list(arguments)}]},
        "status": {"phase": phase},
    }


class FakeCluster:
    """What it holds may be changed at any time.

    Attributes:
        leases, pods: objects; `labelled` those that the chart's label finds.
        ports: where the listeners of the pod really are, by the port inside the pod.
        forwarding: the HTTP status of forwarding requests, 101 when they are granted.
        piece: how many bytes the kubelet sends in one message.
        asked: what was requested, in order.
        user: of the kubeconfig; `groups` those whom the last forwarding request acted for.
        page: what is said instead of Leases, if it is not empty.
    """

    def __init__(self) -> None:
        self.leases = [lease()]
        self.pods = {POD: pod()}
        self.labelled: list[dict[str, Any]] = []
        self.ports: dict[int, int] = {}
        self.forwarding = 101
        self.piece = 7
        self.asked: list[str] = []
        self.url = ""
        self.user: dict[str, Any] = {}
        self.groups: list[str] = []
        self.page = ""
        self.namespace = ""

    def kubeconfig(self, folder: Path) -> Path:
        path = folder / "kubeconfig"
        content = {
            "current-context": "fake",
            "contexts": [{"name": "fake", "context": {"cluster": "fake", "user": "fake", "namespace": self.namespace}}],
            "clusters": [{"name": "fake", "cluster": {"server": self.url}}],
            "users": [{"name": "fake", "user": self.user}],
        }
        path.write_text(json.dumps(content))
        return path

    async def list_leases(self, request: web.Request) -> web.Response:
        self.asked.append(request.path_qs)
        return web.Response(text=self.page) if self.page else _json({"items": self.leases})

    async def list_pods(self, request: web.Request) -> web.Response:
        self.asked.append(request.path_qs)
        return _json({"items": self.labelled})

    async def read_pod(self, request: web.Request) -> web.Response:
        found = self.pods.get(request.match_info["name"])
        if found is None or request.match_info["namespace"] != "kube-system":
            return _json({"kind": "Status", "code": 404, "reason": "NotFound", "message": "no such pod"}, 404)
        return _json(found)

    async def forward(self, request: web.Request) -> web.StreamResponse:
        """What the kubelet does: the port on both channels, then bytes, until the pod closes its connection."""
        self.asked.append(request.path_qs)
        self.groups = request.headers.getall("Impersonate-Group", [])
        if self.forwarding != 101:
            return _json({"kind": "Status", "code": self.forwarding, "message": "no"}, self.forwarding)
        socket = web.WebSocketResponse(protocols=("v4.channel.k8s.io",))
        await socket.prepare(request)
        assert socket.ws_protocol == "v4.channel.k8s.io"
        port = int(request.query["ports"])
        for channel in (0, 1):
            await socket.send_bytes(bytes((channel,)) + port.to_bytes(2, "little"))
        if port not in self.ports:
            said = f"error forwarding port {port} to pod {POD}: connect: connection refused"
            await socket.send_bytes(b"\x01" + said.encode())
        else:
            await self._between(socket, self.ports[port])
        await socket.close()
        return socket

    async def _between(self, socket: web.WebSocketResponse, port: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            message = await socket.receive(WAIT_S)
            assert message.type is WSMsgType.BINARY
            assert message.data[0] == 0
            writer.write(message.data[1:])
            async with asyncio.timeout(WAIT_S):
                while piece := await reader.read(self.piece):
                    await socket.send_bytes(b"\x00" + piece)
        finally:
            writer.close()


@asynccontextmanager
async def fake_cluster() -> AsyncIterator[FakeCluster]:
    cluster = FakeCluster()
    app = web.Application()
    app.router.add_get(LEASES, cluster.list_leases)
    app.router.add_get("/api/v1/pods", cluster.list_pods)
    app.router.add_get("/api/v1/namespaces/{namespace}/pods/{name}", cluster.read_pod)
    app.router.add_get("/api/v1/namespaces/{namespace}/pods/{name}/portforward", cluster.forward)
    runner = web.AppRunner(app, shutdown_timeout=1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    cluster.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield cluster
    finally:
        await runner.cleanup()


def _json(body: dict[str, Any], status: int = 200) -> web.Response:
    return web.Response(status=status, body=msgspec.json.encode(body), content_type="application/json")
