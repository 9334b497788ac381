"""``make e2e-long``: every fault, again and again, and hundreds of kills. Prints figures; exits 1 if a rule was broken.

python -m tests.e2e.faults [--kills N] [--minutes N] [--rounds N] [--replicas N] [--seed N]
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import random
import sys
import tempfile
import time
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from tests.e2e.aggregation import register_metrics_apis
from tests.e2e.api_client import CONNECTION_ERRORS, ApiError
from tests.e2e.audited import RuleBrokenError
from tests.e2e.control_plane import ControlPlane
from tests.e2e.faults.catalogue import ALL, BY_NAME
from tests.e2e.faults.invariants import Violation, flat
from tests.e2e.faults.kills import Tally, kill_again_and_again, moments
from tests.e2e.faults.pace import BRISK
from tests.e2e.faults.scene import Scene
from tests.e2e.metrics_server import MetricsServer
from tests.e2e.roles import define_controllers
from tests.e2e.server_process import ServerError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Mapping, Sequence

    from tests.e2e.faults.catalogue import Fault
    from tests.e2e.faults.invariants import Costs

_HPAS = 51
_TELL_EVERY = 30
_MEGA = 1e6


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


async def _kills(
    plane: ControlPlane, server: MetricsServer, count: int, cells: int, limit_s: float, seed: int
) -> list[Violation]:
    """Several controllers at once, each with HPAs of its own, so that one starts while another works."""
    began, done = time.monotonic(), itertools.count(1)

    def killed() -> None:
        if (number := next(done)) % _TELL_EVERY == 0:
            _say(f"  {number} kills, {time.monotonic() - began:.0f} s")

    tallies: list[Tally] = []
    scaled: list[int] = []
    # One after the other: many that start at once on few cores take longer than a start may.
    starting = asyncio.Lock()
    # To judge is to read a whole audit log, which keeps this process, and so its proxies and metrics, from answering.
    all_lived = asyncio.Barrier(cells)

    async def cell(number: int, violations: list[Violation]) -> None:
        name, own = f"killed-{number}", seed + number
        start = Scene.start(plane, server, name, hpas=-(-_HPAS // cells), replicas=1, seed=own, pace=BRISK)
        async with AsyncExitStack() as stack:
            async with starting:
                scene = await stack.enter_async_context(start)
            try:
                lives = -(-count // cells)
                tallies.append(await kill_again_and_again(scene, moments(name), lives, own, limit_s, killed))
                await scene.world.converges(timeout_s=60.0)
                await all_lived.wait()
            except BaseException:
                await all_lived.abort()
                raise
            scaled.append(scene.scaled())
            violations += await scene.violations()

    found: list[Violation] = []
    await asyncio.gather(*(_to_its_end(f"cell {number}", cell(number, found), found) for number in range(cells)))
    total = sum(tally.total for tally in tallies)
    _say(f"{total} kills in {time.monotonic() - began:.0f} s, {sum(scaled)} scale writes")
    for name in (moment.name for moment in moments("")):
        _say(f"  {sum(tally.kills.get(name, 0) for tally in tallies):5}  {name}")
    _say(f"  {sum(tally.missed for tally in tallies):5}  at the limit of a life")
    _say(f"  {sum(tally.judged for tally in tallies):5}  of the lives after a kill were awaited at work")
    return found


async def _rounds(
    plane: ControlPlane, server: MetricsServer, chosen: Sequence[Fault], rounds: int, replicas: int, seed: int
) -> list[Violation]:
    """Faults in a new order each round, under several controllers that live through all of it."""
    began, dice = time.monotonic(), random.Random(seed)  # noqa: S311  # an order, no secret
    start = Scene.start(plane, server, f"faults-{replicas}", hpas=_HPAS, replicas=replicas, seed=seed)
    found: list[Violation] = []

    async def all_rounds() -> None:
        async with start as scene:
            costs = [await scene.costs()]
            for number in range(rounds):
                for fault in dice.sample(chosen, len(chosen)):
                    await fault.befall(scene)
                    costs.append(await scene.costs())
                    _say(f"  round {number + 1}, {time.monotonic() - began:5.0f} s: {fault.name}, {_told(costs[-1])}")
            await scene.world.converges(timeout_s=60.0)
            costs.append(await scene.costs())
            # Growth counts from when all faults have happened once; with one round, from the start.
            found.extend([*await scene.violations(), *flat(costs[len(chosen) :] if rounds > 1 else costs)])
            _say(
                f"{rounds} × {len(chosen)} faults under {replicas} controllers in {time.monotonic() - began:.0f} s, "
                f"{scene.scaled()} scale writes; {_told(costs[-1])}"
            )

    await _to_its_end(f"{replicas} controllers", all_rounds(), found)
    return found


def _told(taken: Mapping[str, Costs]) -> str:
    return "; ".join(
        f"{cost.memory_bytes / _MEGA:.0f} MB, {cost.descriptors:.0f} descriptors, {cost.tasks:.0f} tasks of {process}"
        for process, cost in taken.items()
    )


async def _to_its_end(name: str, part: Awaitable[None], found: list[Violation]) -> None:
    """Runs a part; that it breaks off, be it on a traceback in a log, is told among the rest and costs no figures."""
    try:
        await part
    except (
        ApiError,
        RuleBrokenError,
        ServerError,
        ValueError,
        asyncio.BrokenBarrierError,
        *CONNECTION_ERRORS,
    ) as error:
        found.append(Violation("completed", f"{name}: {type(error).__name__}: {error}"))
        _say(f"  {name} broke off: {type(error).__name__}; the rest goes on")


async def _run(arguments: argparse.Namespace) -> int:
    folder = Path(tempfile.mkdtemp(prefix="hpa-controller-faults-"))
    _say(f"logs stay in {folder / 'logs'}")
    async with ControlPlane.start(folder) as plane, MetricsServer.start(plane.files) as server:
        await register_metrics_apis(plane.admin, server.port, plane.files.authority)
        await define_controllers(plane.admin)
        violations = []
        chosen = [BY_NAME[name] for name in arguments.faults.split(",")] if arguments.faults else ALL
        if arguments.kills:
            violations += _told_of(
                await _kills(plane, server, arguments.kills, arguments.cells, arguments.minutes * 60, arguments.seed)
            )
        for replicas in range(2, arguments.replicas + 1) if arguments.rounds else ():
            violations += _told_of(await _rounds(plane, server, chosen, arguments.rounds, replicas, arguments.seed))
    return 1 if violations else 0


def _told_of(violations: list[Violation]) -> list[Violation]:
    """The same, each part's at its end: a later part may be hours away."""
    for violation in violations[:50]:
        _say(f"VIOLATION {violation}")
    _say(f"{len(violations)} violations")
    return violations


def main() -> int:
    """Run as told."""
    parser = argparse.ArgumentParser(prog="python -m tests.e2e.faults", description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=510, help="kills in all (default 510; 0 for none)")
    parser.add_argument("--cells", type=int, default=3, help="controllers that are killed at the same time (default 3)")
    parser.add_argument("--minutes", type=float, default=60.0, help="after which no more is killed (default 60)")
    parser.add_argument("--rounds", type=int, default=3, help="how often each fault happens (default 3; 0 for never)")
    parser.add_argument("--replicas", type=int, default=3, help="2, or 2 and 3 controllers (default 3)")
    parser.add_argument("--faults", default="", help=f"only these, by comma: {', '.join(BY_NAME)}")
    parser.add_argument("--seed", type=int, default=20_261, help="of orders, moments and loads (default 20261)")
    return asyncio.run(_run(parser.parse_args()))


if __name__ == "__main__":
    sys.exit(main())
