"""KWOK in the place of kubelets: pods of its nodes start, get ready and go, and have usage to be measured.

Nothing schedules: a pod template names its node. A scheduler would be one more program, and what it adds, a pod's
nodeName, is nothing that autoscaling looks at.
"""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Self

from tests.e2e.api_client import CONNECTION_ERRORS, ApiClient, ApiError
from tests.e2e.kwok_stages import METRICS_PATH, USES_CPU, documents, metrics_path
from tests.e2e.programs import find_program
from tests.e2e.server_process import ServerError, ServerProcess, reserve_port
from tests.e2e.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    from tests.e2e.control_plane import ControlPlane

_NODES = "/api/v1/nodes"
_LABEL = "e2e.example.com/played-by"
_READY_TIMEOUT_S = 30.0


class Kwok:
    """Nodes played by KWOK; ``async with Kwok.start(plane) as kwok`` adds them to a control plane.

    ``nodes`` are their names, ``process`` is KWOK's process, ``port`` where it answers as the kubelet of all nodes.
    """

    def __init__(self, plane: ControlPlane, process: ServerProcess, nodes: tuple[str, ...], port: int) -> None:
        self.process = process
        self.nodes = nodes
        self.port = port
        self._admin = plane.admin

    @classmethod
    @asynccontextmanager
    async def start(
        cls, plane: ControlPlane, nodes: int = 1, further: Sequence[Mapping[str, Any]] = ()
    ) -> AsyncIterator[Self]:
        """So many ready nodes, ``kwok-0`` and so on, whose pods KWOK plays as kwok_stages.py and ``further`` tell.

        One per control plane. Pods of other nodes are left alone. Raises ServerError when the nodes do not get
        ready, ProgramError without KWOK.
        """
        names = tuple(f"kwok-{index}" for index in range(nodes))
        # KWOK cannot share a port with the socket that holds it, so the port is let go just before.
        with reserve_port() as holder:
            port = int(holder.getsockname()[1])
        home = plane.files.state / "kwok"
        home.mkdir(mode=0o700)
        environment = {"HOME": str(home), "KWOK_WORKDIR": str(home)}
        process = ServerProcess("kwok", _command(plane, port, further), plane.files.logs / "kwok.log", environment)
        kwok = cls(plane, process, names, port)
        process.start()
        try:
            for name in names:
                await plane.admin.create(_NODES, _node(name))
            await kwok._ready()
            yield kwok
        finally:
            await process.stop()

    async def use_cpu(self, amount: str, node: str = "kwok-0") -> None:
        """From now on each container of the node's pods uses so much, such as ``150m``, unless its pod tells else."""
        await self._admin.patch(f"{_NODES}/{node}", {"metadata": {"annotations": {USES_CPU: amount}}})

    async def _ready(self) -> None:
        async def all_ready() -> bool:
            self.process.check()
            listed = (await self._admin.get(_NODES, {"labelSelector": f"{_LABEL}=kwok"}))["items"]
            return {node["metadata"]["name"] for node in listed if _is_ready(node)} == set(self.nodes)

        try:
            await wait_until(
                all_ready,
                f"nodes {', '.join(self.nodes)} to be ready",
                timeout_s=_READY_TIMEOUT_S,
                ignoring=(ApiError, *CONNECTION_ERRORS),
            )
        except TimeoutError as error:
            raise ServerError(f"{error}; {self.process.last_lines()}") from None


def on_node(manifest: Mapping[str, Any], annotations: Mapping[str, str], node: str = "kwok-0") -> dict[str, Any]:
    """The workload with its pods on a node, with annotations that tell KWOK how they behave."""
    template = manifest["spec"]["template"]
    metadata = {**template["metadata"], "annotations": dict(annotations)}
    played = {**template, "metadata": metadata, "spec": {**template["spec"], "nodeName": node}}
    return {**manifest, "spec": {**manifest["spec"], "template": played}}


async def roll_out(admin: ApiClient, path: str, annotations: Mapping[str, str | None]) -> None:
    """Begins a new revision of the workload at path, with annotations of its pods changed; None removes one."""
    await admin.patch(path, {"spec": {"template": {"metadata": {"annotations": dict(annotations)}}}})


def _command(plane: ControlPlane, port: int, further: Sequence[Mapping[str, Any]]) -> list[str]:
    configuration = plane.files.state / "kwok" / "stages.yaml"
    configuration.write_text("\n---\n".join((documents(), *map(json.dumps, further))))
    serving = plane.files.authority.issue_server("kwok", [])
    flags = {
        "kubeconfig": plane.kubeconfig_for("kwok", ["system:masters"]),
        "config": configuration,
        "manage-nodes-with-label-selector": f"{_LABEL}=kwok",
        "node-ip": "127.0.0.1",
        "node-port": port,
        "server-address": f"127.0.0.1:{port}",
        "tls-cert-file": serving.certificate,
        "tls-private-key-file": serving.key,
        # Nobody looks whether nodes are alive, so they need not say so.
        "node-lease-duration-seconds": 0,
    }
    return [str(find_program("kwok")), *(f"--{name}={value}" for name, value in flags.items())]


def _node(name: str) -> dict[str, Any]:
    metadata = {"name": name, "labels": {_LABEL: "kwok"}, "annotations": {METRICS_PATH: metrics_path(name)}}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata}


def _is_ready(node: Mapping[str, Any]) -> bool:
    conditions = node.get("status", {}).get("conditions", ())
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)
