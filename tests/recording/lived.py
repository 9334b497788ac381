"""Recordings of version 2 made on the spot: an HPA that is synced again and again, its history going round."""

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from controller.decide.decision import conclude, decide
from controller.decide.history import History
from controller.decide.instants import NANOSECONDS, Now
from controller.decide.observed import Observation
from controller.decide.result import Write, Written
from controller.decide.spec import Autoscaler
from controller.decide.status import Status
from controller.recording import format_v2
from tests.builders import cpu, hpa, now, observation, scale, settings, usage

BEGAN: Final = now()
RUN: Final = "c0ffee00"
WRITE_NS: Final = 1_234_567
"""How long a scale write takes here."""


def header(autoscaler: Autoscaler, *, run: str = RUN, part: int = 1, only: str = "") -> bytes:
    """The first line."""
    return format_v2.header(
        program="hpa-controller test",
        began=BEGAN,
        settings=autoscaler.settings,
        sync_period_ns=15 * NANOSECONDS,
        run=run,
        part=part,
        hpa=only,
    )


def ticks(
    autoscaler: Autoscaler,
    seen: Sequence[Observation],
    writes: Sequence[Write] = (),
    *,
    period_s: float = 15.25,
    first_s: float = 0,
) -> list[bytes]:
    """A line per observation; its status is replaced by the last sync's. A scale write comes to what `writes` say."""
    lines: list[bytes] = []
    history, status = History(), Status()
    for number, one in enumerate(seen):
        at = now(first_s + number * period_s)
        concluded = Now(at.wall_ns + WRITE_NS, at.monotonic_ns + WRITE_NS)
        looked = replace(one, status=status)
        decision = decide(autoscaler, looked, history, at)
        write = (writes[number] if number < len(writes) else Written()) if decision.rescales else None
        conclusion = conclude(autoscaler, status, decision, write, concluded)
        lines.append(
            format_v2.tick(
                key=autoscaler.key,
                spec=autoscaler.spec,
                observation=looked,
                history=history,
                now=at,
                write=write,
                conclusion=conclusion,
                concluded=concluded,
                began=BEGAN,
            )
        )
        history, status = conclusion.history, conclusion.status
    return lines


CPU: Final = hpa(cpu(50), settings=settings(downscale_stabilization_s=60))


def rising_and_falling(autoscaler: Autoscaler = CPU) -> list[bytes]:
    """Eight syncs: the load rises, the replicas follow, the load falls; with 1000m requested per pod."""
    loads = ((2, 300), (2, 640), (2, 800), (4, 400), (4, 200), (4, 100), (4, 100), (2, 100))
    seen = [observation(scale(replicas), usage(*[milli] * replicas)) for replicas, milli in loads]
    return ticks(autoscaler, seen)
