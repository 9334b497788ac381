from collections.abc import AsyncIterator

import aiohttp
import pytest

from controller.lab.clock import LabClock
from controller.lab.cluster import Cluster
from controller.lab.server import LabServer
from tests.lab.client import Client
from tests.lab.hands import Hands


@pytest.fixture
def hands() -> Hands:
    return Hands()


@pytest.fixture
def cluster(hands: Hands) -> Cluster:
    """A cluster whose time stands still unless the test moves the hands."""
    return Cluster(LabClock(hands))


@pytest.fixture
async def lab() -> AsyncIterator[LabServer]:
    async with LabServer() as server:
        yield server


@pytest.fixture
async def client(lab: LabServer) -> AsyncIterator[Client]:
    async with aiohttp.ClientSession() as session:
        yield Client(lab.url, session)
