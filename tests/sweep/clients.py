"""A client of an API server as the controller has one."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from controller.clock import SystemClock
from controller.kube.client import Client
from controller.kube.connection import Connection
from controller.kube.kubeconfig import load
from controller.kube.lease import AlwaysLeading
from controller.lab.kubeconfig import write_kubeconfig


@asynccontextmanager
async def connected(url: str, folder: Path) -> AsyncIterator[Client]:
    """The client within the block; its kubeconfig is written to the folder."""
    kubeconfig = folder / "kubeconfig"
    write_kubeconfig(kubeconfig, url=url, namespace="default", authority=None, token=None)
    connection = Connection(load(str(kubeconfig), environment={}), SystemClock())
    try:
        yield Client(
            connection,
            leadership=AlwaysLeading(),
            random=lambda: 0.0,
            answered=lambda *_: None,
        )
    finally:
        await connection.close()
