"""Controllers that are killed again and again, at the worst moments and at any."""

from __future__ import annotations

import asyncio
import dataclasses
import itertools
import math
import random
from typing import TYPE_CHECKING

from tests.e2e.faults.faulty_proxy import Trap
from tests.e2e.faults.scene import Scene, ready

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from tests.e2e.faults.scene import Replica

# The rest of a life, at most: start, wait for the predecessor's Lease to run out, a first sync. Then it is killed.
LIFE_S = 20.0


@dataclasses.dataclass(frozen=True)
class Moment:
    """When a process is killed: at a request, before it is sent on or before its answer comes; None: at any time."""

    name: str
    method: str = ""
    path_end: str = ""
    when: str = "before"


AT_ANY_MOMENT = Moment("at any moment")


def moments(lease: str) -> tuple[Moment, ...]:
    """All of them, for a controller that contends for a Lease of that name."""
    return (
        Moment("before a scale write", "PUT", "/scale"),
        Moment("after a scale write, before its answer", "PUT", "/scale", "after"),
        Moment("between scale and status", "PUT", "/status"),
        Moment("after a status write, before its answer", "PUT", "/status", "after"),
        Moment("before a renewal of the Lease", "PUT", f"/leases/{lease}"),
        Moment("after a renewal of the Lease, before its answer", "PUT", f"/leases/{lease}", "after"),
        AT_ANY_MOMENT,
    )


@dataclasses.dataclass
class Tally:
    """What became of the lives: kills by moment, and lives that ended at the limit without meeting theirs.

    ``judged`` counts the lives that had to be at work again, all HPAs synced, before anything could kill them.
    """

    kills: dict[str, int] = dataclasses.field(default_factory=dict)
    missed: int = 0
    judged: int = 0

    @property
    def total(self) -> int:
        """All kills."""
        return sum(self.kills.values()) + self.missed


async def kill_again_and_again(
    scene: Scene,
    chosen: Sequence[Moment],
    count: int,
    seed: int,
    limit_s: float = math.inf,
    killed: Callable[[], None] = lambda: None,
) -> Tally:
    """Kills the scene's only controller so many times, at the chosen moments in turn; at the end it runs.

    Every other life is first held to the rule that syncs resume; the ones between may be killed while they begin. Of
    the last one, which nobody kills, it is asked, too. After limit_s no more lives begin, so that the tally tells of
    fewer. killed is called after each kill. Raises ServerError when a life ends by itself.
    """
    ends = asyncio.get_running_loop().time() + limit_s
    [replica], tally = scene.replicas, Tally()
    dice = random.Random(seed)  # noqa: S311  # when, not a secret
    process = replica.controller.process
    # A number of moments that is odd, so that each has lives of both kinds in two turns.
    begun_anew = itertools.cycle(dice.choice(((True, False), (False, True))))
    for moment, judged in zip(itertools.islice(itertools.cycle(chosen), count), begun_anew, strict=False):
        if asyncio.get_running_loop().time() >= ends:
            break
        if not process.running:
            process.start()
        if judged and tally.total:
            await _at_work(scene, replica, tally)
        if moment.method:
            trap = Trap(moment.method, moment.path_end, moment.when, process.kill)
            replica.proxy.trap = trap
            met = await _within(trap.sprung.wait(), LIFE_S)
        else:
            await asyncio.sleep(dice.uniform(0.3, 6.0))
            met = True
        replica.proxy.trap = None
        if not met or not moment.method:
            process.check()  # nobody has killed it yet
        process.kill()
        killed()
        if met:
            tally.kills[moment.name] = tally.kills.get(moment.name, 0) + 1
        else:
            tally.missed += 1
    process.start()
    await _at_work(scene, replica, tally)
    return tally


async def _at_work(scene: Scene, replica: Replica, tally: Tally) -> None:
    await ready(replica)
    await scene.over()
    tally.judged += 1


async def _within(waiting: Awaitable[object], limit_s: float) -> bool:
    try:
        async with asyncio.timeout(limit_s):
            await waiting
    except TimeoutError:
        return False
    return True
