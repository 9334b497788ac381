"""Plays workload controller and kubelet for one object, where kube-controller-manager does not run."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from tests.e2e.api_client import ApiClient, ApiError
from tests.e2e.pods import is_active, is_owned_by, is_ready, pod_of, running_status
from tests.e2e.rounds import EXPECTED_ERRORS, Rounds
from tests.e2e.waiting import wait_until
from tests.e2e.workload_kinds import STATEFUL_SET, WorkloadKind

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

    PodStatus: TypeAlias = Callable[[Mapping[str, Any]], Mapping[str, Any] | None]
    """Makes the status of a new pod; None leaves the pod pending."""

    PodsSeen: TypeAlias = Callable[[Sequence[Mapping[str, Any]]], None]
    """Hears of the pods there are each time the player has looked at them."""

_NOT_FOUND = 404
_CONCURRENCY = 20


class WorkloadPlayer:
    """Keeps pods and status of one object in step with its ``spec.replicas``, inside of ``async with``.

    Pods come from the object's template and get a status once, when they are new; from then on they are the
    test's to change. When there are too many, unready ones go first, then young ones; of a StatefulSet those
    with the highest numbers. The object may be created, and created anew, later. Its pods outlive it.
    """

    def __init__(
        self,
        client: ApiClient,
        kind: WorkloadKind,
        namespace: str,
        name: str,
        *,
        pod_status: PodStatus = running_status,
        pods_seen: PodsSeen | None = None,
    ) -> None:
        self._client = client
        self._kind = kind
        self._name = name
        self._path = kind.path(namespace, name)
        self._collection = kind.path(namespace)
        self._pods_path = f"/api/v1/namespaces/{namespace}/pods"
        self._pod_status = pod_status
        self._pods_seen = pods_seen
        self._started: set[str] = set()
        self._permits = asyncio.Semaphore(_CONCURRENCY)
        mine = {"fieldSelector": f"metadata.name={name}"}
        self._rounds = Rounds(client, {self._collection: mine, self._pods_path: {}}, self._reconcile)

    async def __aenter__(self) -> Self:
        self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    def start(self) -> None:
        """Begins to play, in a task of its own."""
        self._rounds.start()

    async def stop(self) -> None:
        """Ends playing; pods and status stay as they are. Raises what broke the player, if anything did."""
        await self._rounds.stop()

    @property
    def last_failure(self) -> Exception | None:
        """The last error that kept the player from its work; it tries again."""
        return self._rounds.last_failure

    async def pods(self) -> list[dict[str, Any]]:
        """The object's pods that count: neither finished nor being deleted. Raises ApiError."""
        owner = await self._client.get(self._path)
        return await self._active_pods(owner)

    async def settled(self, replicas: int, timeout_s: float = 20.0) -> None:
        """Returns when the object wants so many pods, has them and says so. Raises TimeoutError."""

        async def in_step() -> bool:
            self._rounds.check()
            owner = await self._client.get(self._path)
            reported = owner.get("status", {}).get("replicas", 0)
            pods = len(await self._active_pods(owner))
            return bool(owner["spec"]["replicas"] == reported == pods == replicas)

        try:
            await wait_until(
                in_step,
                f"{self._path} to have {replicas} replicas",
                timeout_s=timeout_s,
                ignoring=EXPECTED_ERRORS,
            )
        except TimeoutError as error:
            raise TimeoutError(f"{error}; the player's last failure: {self.last_failure!r}") from None

    # --- playing ---

    async def _reconcile(self) -> None:
        try:
            owner = await self._client.get(self._path)
        except ApiError as error:
            if error.status == _NOT_FOUND:
                return
            raise
        pods = await self._active_pods(owner)
        wanted = owner["spec"].get("replicas", 0)
        missing = self._missing_names(pods, wanted)
        pods += await self._together(self._create_pod(owner, name) for name in missing)
        surplus = self._surplus(pods, len(pods) - wanted)
        await self._together(self._delete_pod(pod) for pod in surplus)
        kept = [pod for pod in pods if pod not in surplus]
        kept = await self._together(self._start_pod(pod) for pod in kept)
        if self._pods_seen is not None:
            self._pods_seen(kept)
        status = self._kind.status(owner, len(kept), sum(map(is_ready, kept)))
        present = owner.get("status", {})
        # A count of zero is not sent back.
        if any(present.get(name, 0) != value for name, value in status.items()):
            await self._client.patch(f"{self._path}/status", {"status": status})

    def _missing_names(self, pods: list[dict[str, Any]], wanted: int) -> list[str | None]:
        """One entry per pod to create: its name, or None where the API server is to find one."""
        if self._kind != STATEFUL_SET:
            return [None] * max(wanted - len(pods), 0)
        names = {pod["metadata"]["name"] for pod in pods}
        return [name for index in range(wanted) if (name := f"{self._name}-{index}") not in names]

    def _surplus(self, pods: list[dict[str, Any]], count: int) -> list[dict[str, Any]]:
        if self._kind == STATEFUL_SET:
            ordered = sorted(pods, key=lambda pod: -int(pod["metadata"]["name"].rpartition("-")[2]))
        else:
            ordered = sorted(pods, key=lambda pod: pod["metadata"]["creationTimestamp"], reverse=True)
            ordered.sort(key=is_ready)
        return ordered[: max(count, 0)]

    # --- requests ---

    async def _active_pods(self, owner: Mapping[str, Any]) -> list[dict[str, Any]]:
        listed = (await self._client.get(self._pods_path))["items"]
        uid = owner["metadata"]["uid"]
        return [pod for pod in listed if is_active(pod) and is_owned_by(pod, uid)]

    async def _create_pod(self, owner: Mapping[str, Any], name: str | None) -> dict[str, Any]:
        async with self._permits:
            created: dict[str, Any] = await self._client.create(self._pods_path, pod_of(owner, name))
        return created

    async def _start_pod(self, pod: dict[str, Any]) -> dict[str, Any]:
        """Gives a new pod its status, also one that a lost answer left without in an earlier round."""
        uid = pod["metadata"]["uid"]
        if uid in self._started or pod["status"].get("phase") != "Pending":
            return pod
        status = self._pod_status(pod)
        if status is not None:
            async with self._permits:
                path = f"{self._pods_path}/{pod['metadata']['name']}/status"
                pod = await self._client.patch(path, {"status": status})
        self._started.add(uid)
        return pod

    async def _delete_pod(self, pod: Mapping[str, Any]) -> None:
        async with self._permits:
            with suppress(ApiError):  # gone already; anything else shows in the next round
                # Without a kubelet nobody would end the grace period.
                name = pod["metadata"]["name"]
                await self._client.delete(f"{self._pods_path}/{name}", {"gracePeriodSeconds": "0"})

    @staticmethod
    async def _together(requests: Iterable[Awaitable[Any]]) -> list[Any]:
        return list(await asyncio.gather(*requests))
