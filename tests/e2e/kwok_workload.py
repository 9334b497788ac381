"""A real Deployment whose pods KWOK plays, watched as a test watches one that it plays itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from tests.e2e.pods import is_active, is_ready
from tests.e2e.rounds import EXPECTED_ERRORS, Rounds
from tests.e2e.waiting import wait_until
from tests.e2e.workload_kinds import DEPLOYMENT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tests.e2e.api_client import ApiClient


def one_by_one(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """The Deployment with rollouts that add one pod before they take one away, whatever its size."""
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    return {**manifest, "spec": {**manifest["spec"], "strategy": strategy}}


class KwokWorkload:
    """Tells of the running pods of a Deployment whenever they change, inside of ``async with``.

    Pods that are pending or on their way out have no usage and are not told of.
    """

    def __init__(
        self, client: ApiClient, namespace: str, name: str, pods_seen: Callable[[Sequence[Mapping[str, Any]]], None]
    ) -> None:
        self._client = client
        self._path = DEPLOYMENT.path(namespace, name)
        self._pods_path = f"/api/v1/namespaces/{namespace}/pods"
        self._pods_seen = pods_seen
        self._rounds = Rounds(client, {self._pods_path: {}}, self._tell)

    async def __aenter__(self) -> Self:
        self._rounds.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._rounds.stop()

    async def settled(self, replicas: int, timeout_s: float = 20.0) -> None:
        """Returns when so many replicas are wanted and ready, and all of the newest revision. Raises TimeoutError."""

        async def in_step() -> bool:
            target = await self._client.get(self._path)
            status = target["status"]
            counters = [status.get(name, 0) for name in ("replicas", "updatedReplicas", "readyReplicas")]
            return bool([target["spec"]["replicas"], *counters] == [replicas] * 4)

        what = f"{self._path} to have {replicas} ready replicas"
        await wait_until(in_step, what, timeout_s=timeout_s, ignoring=EXPECTED_ERRORS)

    async def counted(self) -> dict[str, int]:
        """How many pods there are that count, and how many of them are ready. Raises ApiError."""
        pods = await self._active()
        return {"pods": len(pods), "ready": sum(map(is_ready, pods))}

    async def _tell(self) -> None:
        self._pods_seen([pod for pod in await self._active() if pod["status"].get("phase") == "Running"])

    async def _active(self) -> list[dict[str, Any]]:
        return [pod for pod in (await self._client.get(self._pods_path))["items"] if is_active(pod)]
