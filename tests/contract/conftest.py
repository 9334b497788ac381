from collections.abc import AsyncIterator

import aiohttp
import pytest

from tests.contract.api_server import Api, Server, server_under_test


@pytest.fixture
async def api_server() -> AsyncIterator[Server]:
    """The lab, or the API server that CONTRACT_SERVER names."""
    async with server_under_test() as server:
        yield server


@pytest.fixture
async def api(api_server: Server) -> AsyncIterator[Api]:
    async with aiohttp.ClientSession() as session:
        yield Api(api_server, session)


@pytest.fixture
async def namespace(api: Api) -> AsyncIterator[str]:
    """A namespace of its own for each test."""
    created = await api.create("/api/v1/namespaces", {"metadata": {"generateName": "contract-"}})
    name = created["metadata"]["name"]
    yield name
    await api.request("DELETE", f"/api/v1/namespaces/{name}")
