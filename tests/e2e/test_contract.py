"""What we rely on in an API server holds for kube-apiserver, too: the contract tests, run against it."""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING

import pytest_asyncio

from tests.e2e.control_plane import ControlPlane
from tests.e2e.server_process import run_to_end

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

_TIMEOUT_S = 300.0


@pytest_asyncio.fixture(loop_scope="session")
async def own_plane(tmp_path: Path) -> AsyncIterator[ControlPlane]:
    """Nobody deletes what the contract tests leave in their namespaces, so no other test must see it."""
    async with ControlPlane.start(tmp_path) as plane:
        yield plane


async def test_kube_apiserver_keeps_the_contract(own_plane: ControlPlane) -> None:
    before = len(own_plane.audit_entries())
    environment = {
        **os.environ,
        "CONTRACT_SERVER": own_plane.url,
        "CONTRACT_CA": str(own_plane.files.authority.certificate),
        "CONTRACT_CERT": str(own_plane.files.admin.certificate),
        "CONTRACT_KEY": str(own_plane.files.admin.key),
    }
    command = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=short", "tests/contract")
    ended = await run_to_end(*command, environment=environment, timeout_s=_TIMEOUT_S)
    last = ended.good_output().strip().splitlines()[-1]
    counted = re.fullmatch(r"(\d+) passed in .*", last)
    assert counted is not None, f"all of them pass, none is skipped: {last}"
    # Each test has a namespace of its own, so this shows where they ran.
    created = [
        entry
        for entry in own_plane.audit_entries(before)
        if entry["verb"] == "create" and entry.get("objectRef", {}).get("resource") == "namespaces"
    ]
    assert len(created) >= int(counted[1]) / 2
