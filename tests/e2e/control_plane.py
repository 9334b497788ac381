"""The real control plane: etcd, kube-apiserver and, if wanted, kube-controller-manager, on loopback only."""

from __future__ import annotations

import tempfile
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import aiohttp

from tests.e2e.api_client import CONNECTION_ERRORS, ApiClient, ApiError
from tests.e2e.audit import AuditLog
from tests.e2e.commands import Files, Ports, api_server_command, controller_manager_command, etcd_command
from tests.e2e.kubeconfig import write_kubeconfig
from tests.e2e.kubectl import Kubectl
from tests.e2e.programs import find_program
from tests.e2e.server_process import ServerError, ServerProcess, reserve_port
from tests.e2e.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence

    from tests.e2e.certificates import Credential

_READY_TIMEOUT_S = 60.0


class ControlPlane:
    """A running control plane; ``async with ControlPlane.start(…) as plane`` makes one and ends it.

    Its public attributes are what tests reach into: ``admin`` (a client that may do anything),
    ``admin_kubeconfig``, ``files``, ``audit_log``, the URLs, and the processes ``etcd``, ``api_server`` and
    ``controller_manager`` (None when not asked for).
    """

    def __init__(self, files: Files, ports: Ports, servers: Mapping[str, ServerProcess]) -> None:
        self.files = files
        self.url = f"https://127.0.0.1:{ports.api_server}"
        self.controller_manager_url = f"https://127.0.0.1:{ports.controller_manager}"
        self.etcd = servers["etcd"]
        self.api_server = servers["kube-apiserver"]
        self.controller_manager = servers.get("kube-controller-manager")
        self.audit_log = AuditLog(files.audit_log)
        self.etcd_url = f"http://127.0.0.1:{ports.etcd}"
        self._kubectl = Kubectl(find_program("kubectl"), files.kubectl_home)
        self._clients: list[ApiClient] = []
        self._identities = 0
        self.admin = self.client(files.admin)
        self.admin_kubeconfig = self.kubeconfig(files.admin, "admin")

    @classmethod
    @asynccontextmanager
    async def start(
        cls,
        folder: Path | None = None,
        *,
        feature_gates: Mapping[str, bool] | None = None,
        controllers: Sequence[str] = (),
        etcd_flags: Sequence[str] = (),
        api_server_flags: Sequence[str] = (),
        controller_manager_flags: Sequence[str] = (),
    ) -> AsyncIterator[Self]:
        """A control plane that is ready. Enter it in the main thread: the programs die with the thread.

        folder must exist and be empty; its ``logs`` stay. Without it all is in a temporary folder that goes
        at the end. controllers are named as in kube-controller-manager's flag ``--controllers``; without any,
        that program is not run and nothing moves by itself. Flags are written ``--name=value`` and win over
        those chosen here; feature gates go to both Kubernetes programs. Raises ServerError or ProgramError.
        """
        gates = feature_gates or {}
        async with AsyncExitStack() as cleanup:
            if folder is None:
                folder = Path(cleanup.enter_context(tempfile.TemporaryDirectory(prefix="hpa-controller-e2e-")))
            files = Files(folder)
            cleanup.callback(files.remove_state)
            holders = [cleanup.enter_context(reserve_port()) for _ in range(4)]
            ports = Ports(*(int(holder.getsockname()[1]) for holder in holders))
            commands = {
                "etcd": [*etcd_command(files, ports), *etcd_flags],
                "kube-apiserver": [*api_server_command(files, ports, gates), *api_server_flags],
            }
            if controllers:
                command = controller_manager_command(files, ports, gates, controllers)
                commands["kube-controller-manager"] = [*command, *controller_manager_flags]
            servers = {
                name: ServerProcess(name, command, files.logs / f"{name}.log") for name, command in commands.items()
            }
            for server in servers.values():
                cleanup.callback(server.kill)
            plane = cls(files, ports, servers)
            cleanup.push_async_callback(plane._stop)
            await plane.start_etcd()
            await plane.start_api_server()
            if plane.controller_manager is not None:
                await plane.start_controller_manager()
            yield plane

    # --- access ---

    def client(self, identity: Credential | str | None, server: str | None = None) -> ApiClient:
        """A client with a certificate, a token or no identity, closed with the control plane at the latest.

        server is the API server unless given.
        """
        client = ApiClient(server or self.url, self.files.authority.certificate, identity)
        self._clients.append(client)
        return client

    def credential_for(self, user: str, groups: Sequence[str] = ()) -> Credential:
        """A new client certificate for the user."""
        self._identities += 1
        return self.files.authority.issue_client(f"user-{self._identities}", user, groups)

    def kubeconfig(self, identity: Credential | str | Mapping[str, Any] | None, file_name: str | None = None) -> Path:
        """A new kubeconfig file with a certificate, a token, a whole user entry, or for nobody."""
        self._identities += 1
        path = self.files.kubeconfigs / (file_name or f"user-{self._identities}")
        return write_kubeconfig(path, self.url, self.files.authority.certificate, identity)

    def kubeconfig_for(self, user: str, groups: Sequence[str] = ()) -> Path:
        """A new kubeconfig file for the user, with a certificate made for it."""
        return self.kubeconfig(self.credential_for(user, groups))

    async def service_account_token(
        self, namespace: str, name: str, duration_s: int = 3600, bound_to: Mapping[str, Any] | None = None
    ) -> str:
        """A bearer token of an existing service account, valid for duration_s seconds. Raises ApiError.

        With a secret to which it is bound, it is valid no longer than the secret exists; the API server may not
        notice for ten seconds.
        """
        spec: dict[str, Any] = {"expirationSeconds": duration_s}
        if bound_to is not None:
            name_of, uid = bound_to["metadata"]["name"], bound_to["metadata"]["uid"]
            spec["boundObjectRef"] = {"apiVersion": "v1", "kind": "Secret", "name": name_of, "uid": uid}
        answer = await self.admin.create(
            f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token",
            {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec},
        )
        return str(answer["status"]["token"])

    async def kubectl(
        self,
        *arguments: str,
        stdin: str | None = None,
        kubeconfig: Path | None = None,
        timeout_s: float = 30.0,
    ) -> str:
        """What kubectl prints; without kubeconfig it is the admin. Raises KubectlError or TimeoutError."""
        return await self._kubectl.run(kubeconfig or self.admin_kubeconfig, arguments, stdin, timeout_s)

    def kubectl_follow(self, *arguments: str) -> AbstractAsyncContextManager[list[str]]:
        """What the admin's kubectl prints while it runs, line by line; see Kubectl.follow."""
        return self._kubectl.follow(self.admin_kubeconfig, arguments)

    def audit_entries(self, start: int = 0) -> list[dict[str, Any]]:
        """The audit log's entries from a position (``audit_log.position()``) on, oldest first."""
        return self.audit_log.entries(start)

    # --- starting and stopping ---

    async def start_etcd(self) -> None:
        """Starts etcd on its port and data and returns when it serves."""
        self.etcd.start()

        async def healthy() -> bool:
            async with (
                aiohttp.ClientSession() as session,
                session.get(f"{self.etcd_url}/health") as response,
            ):
                return response.ok

        await self._serving(self.etcd, healthy)

    async def start_api_server(self) -> None:
        """Starts kube-apiserver on its port and returns when it is ready, with its own namespaces made."""
        self.api_server.start()
        await self.wait_ready()

    async def wait_ready(self) -> None:
        """Returns when kube-apiserver is ready. Raises ServerError when it ends or is not within a minute."""

        async def ready() -> bool:
            for path in ("/readyz", "/api/v1/namespaces/default", "/api/v1/namespaces/kube-system"):
                await self.admin.get(path, timeout_s=5.0)
            return True

        await self._serving(self.api_server, ready)

    async def start_controller_manager(self) -> None:
        """Starts kube-controller-manager, if it was asked for at first, and returns when it is healthy."""
        if self.controller_manager is None:
            raise ValueError("this control plane was started without controllers")
        self.controller_manager.start()
        client = self.client(self.files.admin, self.controller_manager_url)

        async def healthy() -> bool:
            await client.get("/healthz", timeout_s=5.0)
            return True

        await self._serving(self.controller_manager, healthy)

    async def ensure_running(self) -> None:
        """Starts again what a test killed and, perhaps because it failed, did not start."""
        if not self.etcd.running:
            await self.start_etcd()
        if not self.api_server.running:
            await self.start_api_server()

    async def restart_api_server(self) -> None:
        """Stops kube-apiserver, starts it again on its port and returns when it is ready."""
        await self.api_server.stop()
        await self.start_api_server()

    async def restart_etcd(self) -> None:
        """Stops etcd, starts it again on the same data and returns when kube-apiserver is ready with it."""
        await self.etcd.stop()
        await self.start_etcd()
        if self.api_server.running:
            await self.wait_ready()

    async def _serving(self, server: ServerProcess, check: Callable[[], Awaitable[bool]]) -> None:
        async def alive_and_serving() -> bool:
            server.check()
            return await check()

        try:
            await wait_until(
                alive_and_serving,
                f"{server.name} to serve",
                timeout_s=_READY_TIMEOUT_S,
                ignoring=(ApiError, *CONNECTION_ERRORS),
            )
        except TimeoutError as error:
            raise ServerError(f"{error}; {server.last_lines()}") from None

    async def _stop(self) -> None:
        for client in self._clients:
            await client.close()
        # In this order nobody loses the server it works with, so nobody waits or complains in its log.
        for server in (self.controller_manager, self.api_server, self.etcd):
            if server is not None:
                await server.stop()
