"""The ConfigMaps of kept histories, on an API server over HTTP."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from controller.kube.client import Client
from controller.kube.connection import Connection
from controller.kube.kept_histories import KubeHistories
from controller.kube.kubeconfig import load
from controller.lab.server import LabServer
from controller.ports import Conflict, NotFound, StoredShard
from tests.adapters.parts import LoopClock, Recorder, SetLeadership, half

BODY = bytes(range(256))


@asynccontextmanager
async def store(lab: LabServer, folder: Path) -> AsyncIterator[KubeHistories]:
    path = folder / "kubeconfig"
    lab.write_kubeconfig(path)
    connection = Connection(load(str(path), environment={}), LoopClock())
    client = Client(
        connection,
        leadership=SetLeadership(),
        random=half,
        answered=Recorder().answered,
    )
    try:
        yield KubeHistories(client, "default", "hpa-controller")
    finally:
        await connection.close()


def stored(lab: LabServer) -> dict[str, Any]:
    return dict(lab.cluster.get("configmaps", "hpa-controller-history-3", "default"))


async def test_what_is_saved_is_loaded_and_only_what_was_read_is_replaced(tmp_path: Path) -> None:
    async with LabServer() as lab, store(lab, tmp_path) as histories:
        assert await histories.load(3) == StoredShard(None, "")
        first = await histories.save(3, BODY, "")
        assert await histories.load(3) == StoredShard(BODY, first)
        with pytest.raises(Conflict):
            await histories.save(3, BODY, "")
        second = await histories.save(3, b"more", first)
        assert second != first
        with pytest.raises(Conflict):
            await histories.save(3, BODY, first)
        assert await histories.load(3) == StoredShard(b"more", second)


async def test_what_others_have_put_beside_it_stays(tmp_path: Path) -> None:
    async with LabServer() as lab, store(lab, tmp_path) as histories:
        await histories.save(3, BODY, "")
        found = stored(lab)
        assert "--keep-history" in found["data"]["about"]
        found["metadata"]["labels"]["team"] = "platform"
        found["binaryData"]["theirs"] = "AAAA"
        lab.cluster.update("configmaps", found)
        version = (await histories.load(3)).version
        await histories.save(3, b"more", version)
        kept = stored(lab)
        assert kept["metadata"]["labels"]["team"] == "platform"
        assert kept["binaryData"]["theirs"] == "AAAA"


async def test_an_object_that_is_gone_cannot_be_replaced(tmp_path: Path) -> None:
    async with LabServer() as lab, store(lab, tmp_path) as histories:
        version = await histories.save(3, BODY, "")
        lab.cluster.delete("configmaps", "hpa-controller-history-3", "default")
        with pytest.raises(NotFound):
            await histories.save(3, BODY, version)


async def test_an_object_without_a_history_has_none(tmp_path: Path) -> None:
    async with LabServer() as lab, store(lab, tmp_path) as histories:
        lab.cluster.create("configmaps", {"metadata": {"name": "hpa-controller-history-3"}, "data": {"a": "b"}})
        found = await histories.load(3)
        assert found.body is None
        assert found.version
