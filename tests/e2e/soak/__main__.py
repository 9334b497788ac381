"""``make e2e-long``, second part: half an hour and more of HPAs that come and go. Exits 1 if anything grew or was lost.

python -m tests.e2e.soak [--minutes N] [--warm-up N] [--hpas N] [--per-second N] [--seed N]
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from tests.e2e.accounts import controller_account
from tests.e2e.aggregation import register_metrics_apis
from tests.e2e.control_plane import ControlPlane
from tests.e2e.controller_process import ControllerProcess
from tests.e2e.faults.faulty_proxy import FaultyProxy, Trouble
from tests.e2e.metrics_server import MetricsServer
from tests.e2e.roles import define_controllers
from tests.e2e.soak.judgement import MIB, Sample, grown, growth_mib, lost, lost_for_good
from tests.e2e.soak.world import World

if TYPE_CHECKING:
    from collections.abc import Sequence

_CHECKED_EVERY_S = 20.0
_REST_S = 4.0
_SYNCED_MAX_S = 10.0
"""Ten periods at rest: an HPA that is lost is never synced again, and a busy machine is no loss."""
_LOOKED_AGAIN = 10
"""How often, a second after each other, before what was made or deleted last is lost."""
_RECORDED_MAX = "64Mi"
_SLOW = Trouble(delay_s=1.0)
_SLOW_EVERY = 6
"""Every sixth look comes after a time of slow requests, in the warm-up and later, so that as many connections are open
as a busy machine ever makes necessary: what they take is kept for the next time, and no leak."""


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


async def _sample(controller: ControllerProcess, began: float) -> Sample:
    metrics = await controller.metrics()
    links = _descriptors(controller.process.pid)
    sockets = sum(link.startswith("socket:") for link in links)
    return Sample(
        time.monotonic() - began,
        metrics.total("process_resident_memory_bytes"),
        sockets,
        len(links) - sockets,
        metrics.total("hpa_controller_tasks"),
    )


async def _lost(world: World, controller: ControllerProcess, at_s: float) -> list[str]:
    """What is lost for good; what was not yet there at a look is said."""

    async def look() -> list[str]:
        found = lost(await controller.rows(), world.needed, _SYNCED_MAX_S)
        if found:
            _say(f"{at_s:6.0f} s  not yet, {len(found)} in all: {', '.join(found[:3])}")
        return found

    return await lost_for_good(look, lambda: asyncio.sleep(1.0), _LOOKED_AGAIN)


def _descriptors(pid: int) -> list[str]:
    """What each open descriptor of a process is."""
    links = []
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # closed since
            links.append(str(descriptor.readlink()))
    return links


async def _soak(
    world: World,
    server: MetricsServer,
    proxy: FaultyProxy,
    controller: ControllerProcess,
    minutes: float,
    warm_up: float,
) -> list[str]:
    """What was wrong at any of the looks, and what has grown."""
    began, wrong, samples = time.monotonic(), [], []
    for look in itertools.count(1):
        if (passed_s := time.monotonic() - began) >= minutes * 60:
            break
        with proxy.troubled(Trouble() if look % _SLOW_EVERY else _SLOW):
            await asyncio.sleep(_CHECKED_EVERY_S - _REST_S)
        async with world.at_rest():
            await asyncio.sleep(_REST_S)
            sample = await _sample(controller, began)
            wrong += [f"{sample.at_s:.0f} s: {what}" for what in await _lost(world, controller, sample.at_s)]
        proxy.cut_watches()
        server.requests.clear()
        if passed_s >= warm_up * 60:
            samples.append(sample)
        counts = world.counts
        _say(
            f"{sample.at_s:6.0f} s  {sample.memory_bytes / MIB:6.1f} MiB  {sample.files:3.0f} files, "
            f"{sample.sockets:3.0f} sockets  {sample.tasks:3.0f} tasks  "
            f"{counts.created} created, {counts.changed} changed, {counts.deleted} deleted"
        )
    async with world.at_rest():
        await world.fits(timeout_s=120.0)
    if len(samples) > 1:
        _say(f"memory grows by {growth_mib(samples):.2f} MiB in ten minutes")
    return [*wrong, *grown(samples)]


async def _run(arguments: argparse.Namespace) -> int:
    folder = Path(tempfile.mkdtemp(prefix="hpa-controller-soak-"))
    _say(f"logs stay in {folder / 'logs'}")
    # Half an hour of requests would fill a disk, and nothing here is judged by them.
    unaudited = ("--audit-log-path=", "--audit-policy-file=")
    async with (
        ControlPlane.start(folder, api_server_flags=unaudited) as plane,
        MetricsServer.start(plane.files) as server,
        World.start(plane, server, hpas=arguments.hpas, per_s=arguments.per_second, seed=arguments.seed) as world,
        FaultyProxy.start(plane, "soak", arguments.seed) as proxy,
    ):
        await register_metrics_apis(plane.admin, server.port, plane.files.authority)
        await define_controllers(plane.admin)
        account = await controller_account(plane, "soak", proxy.url)
        flags = (f"--namespaces={world.namespace}", f"--record-max-bytes={_RECORDED_MAX}")
        async with ControllerProcess.start(
            plane, "soak", *flags, kubeconfig=account.kubeconfig, user=account.user
        ) as controller:
            wrong = await _soak(world, server, proxy, controller, arguments.minutes, arguments.warm_up)
            _tell(wrong)
    return 1 if wrong else 0


def _tell(wrong: Sequence[str]) -> None:
    for what in wrong[:50]:
        _say(f"WRONG {what}")
    _say(f"{len(wrong)} wrong")


def main() -> int:
    """Run as told."""
    parser = argparse.ArgumentParser(prog="python -m tests.e2e.soak", description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=40.0, help="how long (default 40)")
    parser.add_argument("--warm-up", type=float, default=10.0, help="minutes that memory may still grow (default 10)")
    parser.add_argument("--hpas", type=int, default=150, help="how many are there at a time (default 150)")
    parser.add_argument("--per-second", type=float, default=2.0, help="replaced, and changed, per second (default 2)")
    parser.add_argument("--seed", type=int, default=20_261, help="of loads and choices (default 20261)")
    return asyncio.run(_run(parser.parse_args()))


if __name__ == "__main__":
    sys.exit(main())
