"""What the built-in controller makes of all scenarios, recorded once for all comparisons of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from tests.e2e.side_by_side.runner import builtin_plane, record_builtin
from tests.e2e.side_by_side.scenarios import SCENARIOS

if TYPE_CHECKING:
    from tests.e2e.side_by_side.compare import Recording


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def reference(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    """The built-in controller's recording; its control plane has ended when a test gets it."""
    async with builtin_plane(tmp_path_factory.mktemp("builtin")) as (plane, server):
        return await record_builtin(plane, server, SCENARIOS)
