"""One control plane for all end-to-end tests, and a namespace of its own for each.

All of them run in one event loop, the standard one, because the clients they share belong to a loop.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from tests.e2e.aggregation import register_metrics_apis, wait_available
from tests.e2e.control_plane import ControlPlane
from tests.e2e.controller_process import ControllerProcess
from tests.e2e.metrics_server import MetricsServer
from tests.e2e.namespaces import create_namespace, delete_namespace
from tests.e2e.roles import define_controllers
from tests.e2e.workload_kinds import FLEET, SWARM, create_custom_kind

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

_LOGS = pytest.StashKey[Path]()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    folder = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(folder):
            item.add_marker(pytest.mark.e2e)
            if pytest_asyncio.is_async_test(item):
                item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if folder := config.stash.get(_LOGS, None):
        terminalreporter.write_line(f"logs of the control plane: {folder}")


@pytest_asyncio.fixture(scope="session", loop_scope="session", autouse=True)
async def one_loop() -> AsyncIterator[None]:
    """Opens the session's loop before the first test, whichever that is.

    At a test without a loop, looptime asks asyncio for one, which asyncio then makes and nobody closes.
    """
    yield


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def control_plane(
    tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config
) -> AsyncIterator[ControlPlane]:
    """etcd and kube-apiserver, without kube-controller-manager; custom kinds FLEET and SWARM are defined."""
    folder = tmp_path_factory.mktemp("control-plane")
    pytestconfig.stash[_LOGS] = folder / "logs"
    async with ControlPlane.start(folder) as plane:
        for kind in (FLEET, SWARM):
            await create_custom_kind(plane.admin, kind)
        yield plane


@pytest_asyncio.fixture(loop_scope="session")
async def namespace(control_plane: ControlPlane) -> AsyncIterator[str]:
    """The name of a new namespace, which is emptied and gone after the test."""
    await control_plane.ensure_running()
    name = await create_namespace(control_plane.admin, "e2e")
    yield name
    await delete_namespace(control_plane.admin, name)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def controllers_may_control(control_plane: ControlPlane) -> None:
    """Users of the group of controllers may do what the product does."""
    await define_controllers(control_plane.admin)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def controller(
    request: pytest.FixtureRequest,
    control_plane: ControlPlane,
    controllers_may_control: None,  # noqa: ARG001  # it has to come first
    registered_metrics_server: MetricsServer,  # noqa: ARG001  # the same
) -> AsyncIterator[ControllerProcess]:
    """One running controller for all tests of a module; it syncs each HPA every second."""
    await control_plane.ensure_running()
    name = f"controller-of-{request.module.__name__.rpartition('.')[2].removeprefix('test_').replace('_', '-')}"
    async with ControllerProcess.start(control_plane, name) as running:
        yield running


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def registered_metrics_server(control_plane: ControlPlane) -> AsyncIterator[MetricsServer]:
    """The stub behind all metrics APIs; tests take the fixture metrics_server."""
    async with MetricsServer.start(control_plane.files) as server:
        await register_metrics_apis(control_plane.admin, server.port, control_plane.files.authority)
        yield server


@pytest_asyncio.fixture(loop_scope="session")
async def metrics_server(
    control_plane: ControlPlane, namespace: str, registered_metrics_server: MetricsServer
) -> AsyncIterator[MetricsServer]:
    """The available stub behind the metrics APIs, without faults, requests or values in the namespace."""
    # An earlier test may have restarted the API server, which then looks anew.
    await wait_available(control_plane.admin)
    registered_metrics_server.requests.clear()
    yield registered_metrics_server
    registered_metrics_server.reset()
    registered_metrics_server.values.clear(namespace)
