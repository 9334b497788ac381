"""Starts that cannot work end at once, with a status and one line that say why."""

from __future__ import annotations

import asyncio
import json
import os
import re
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from tests.e2e.bad_starts import UNREACHED, BadStart, wrong_clusters, wrong_flags
from tests.e2e.controller_process import PROGRAM
from tests.e2e.server_process import Ended, run_to_end

if TYPE_CHECKING:
    from tests.e2e.control_plane import ControlPlane

_AT_ONCE = 3
CLUSTERS = [
    "not-yaml",
    "a-list",
    "empty-file",
    "unknown-context",
    "no-address",
    "bad-address",
    "bad-authority",
    "mismatched-key",
    "no-token-file",
    "no-plugin",
    "failing-plugin",
    "babbling-plugin",
    "unreachable",
    "untrusted",
    "no-tls",
    "invalid-token",
    "occupied-metrics",
    "occupied-health",
    "no-port",
    "no-room-to-record",
]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def ended(
    control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, tuple[BadStart, Ended]]:
    """All starts and how they ended; they run beside each other, since one of them waits."""
    folder = tmp_path_factory.mktemp("bad-starts")
    permits = asyncio.Semaphore(_AT_ONCE)
    with ExitStack() as stack:
        starts = {**await wrong_clusters(control_plane, folder, stack), **wrong_flags()}

        async def run(start: BadStart) -> Ended:
            environment = {"PATH": os.environ["PATH"], "HOME": str(folder), **start.environment}
            async with permits:
                return await run_to_end(PROGRAM, "run", *start.flags, environment=environment)

        # The one that waits for its server waits from the beginning on.
        order = sorted(starts, key=lambda name: name != "unreachable")
        outcomes = await asyncio.gather(*(run(starts[name]) for name in order))
    return {name: (starts[name], outcome) for name, outcome in zip(order, outcomes, strict=True)}


@pytest.mark.parametrize("name", [*wrong_flags(), *CLUSTERS])
def test_a_bad_start_says_why(ended: dict[str, tuple[BadStart, Ended]], name: str) -> None:
    start, outcome = ended[name]
    assert outcome.status == start.status, outcome.errors
    # Log lines may come before, never between.
    lines = outcome.errors.splitlines()
    logged = [line for line in lines if line.startswith("{")]
    said = lines[len(logged) :]
    assert all(json.loads(line)["level"] in ("info", "warning") for line in logged)
    assert re.fullmatch(start.said, "\n".join(said)), outcome.errors
    assert "Traceback" not in outcome.errors
    assert outcome.output == ""


def test_every_bad_start_is_looked_at(ended: dict[str, tuple[BadStart, Ended]]) -> None:
    assert ended.keys() == {*wrong_flags(), *CLUSTERS}


def test_only_a_silent_server_is_waited_for(ended: dict[str, tuple[BadStart, Ended]]) -> None:
    waited = {name for name, (_, outcome) in ended.items() if "does not answer yet" in outcome.errors}
    assert waited == {"unreachable"}
    assert ended["unreachable"][1].errors.count("does not answer yet") == 1, "said once"
    assert ended["unreachable"][0].status == UNREACHED
