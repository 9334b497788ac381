"""What the built-in controller makes of all scenarios, recorded once, and the control planes for ours."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from tests.e2e.side_by_side.findings import Findings
from tests.e2e.side_by_side.runner import ZERO_GATES, our_plane, record_reference

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Sequence

    from tests.e2e.control_plane import ControlPlane
    from tests.e2e.metrics_server import MetricsServer
    from tests.e2e.side_by_side.compare import Observed, Recording


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--side-by-side-report", metavar="FILE", help="write what was compared to FILE, as Markdown")


@pytest.fixture(scope="session")
def findings(pytestconfig: pytest.Config) -> Iterator[Findings]:
    """Takes what tests compare; the option --side-by-side-report writes it down if all of it came."""
    collected = Findings()
    yield collected
    # Known only where this folder is named on the command line.
    path = pytestconfig.getoption("side_by_side_report", None)
    if path is not None:
        Path(path).write_text(collected.document())


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def reference(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Sequence[Observed]]:
    """The built-in controller's recording; its control planes have ended when a test gets it."""
    return await record_reference(tmp_path_factory)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def ours(
    tmp_path_factory: pytest.TempPathFactory,
    reference: Recording,  # noqa: ARG001  # one after the other: both at once would be slow on small machines
) -> AsyncIterator[tuple[tuple[ControlPlane, MetricsServer], tuple[ControlPlane, MetricsServer]]]:
    """Control planes without a controller of HPAs: for the scenarios, and for those with a gate."""
    async with AsyncExitStack() as stack:
        plain = await stack.enter_async_context(our_plane(tmp_path_factory.mktemp("ours")))
        zero = await stack.enter_async_context(our_plane(tmp_path_factory.mktemp("ours-to-zero"), ZERO_GATES))
        yield plain, zero
