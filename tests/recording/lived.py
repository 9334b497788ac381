"""Recordings of version 2 made on the spot: an HPA that is synced again and again, its history going round."""

import gzip
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from controller.decide.decision import conclude, decide
from controller.decide.history import History
from controller.decide.instants import NANOSECONDS, Now
from controller.decide.observed import Observation
from controller.decide.result import Decision, Write, Written
from controller.decide.spec import Autoscaler
from controller.decide.status import Status
from controller.recording import format_v2
from controller.recording.course import Frame, grouped
from controller.recording.variants import AS_RECORDED, Variant
from controller.wire.autoscalers import status_from
from controller.wire.status import status_to
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
    withheld: str = "",
) -> list[bytes]:
    """A line per observation; its status is replaced by the last sync's, as it comes back.

    A scale write comes to what `writes` say. Where writes are `withheld` nothing is scaled or stored, and each
    observation has the status that was found.
    """
    lines: list[bytes] = []
    history, status = History(), Status()
    for number, one in enumerate(seen):
        at = now(first_s + number * period_s)
        concluded = Now(at.wall_ns + WRITE_NS, at.monotonic_ns + WRITE_NS)
        looked = one if withheld else replace(one, status=status)
        decision = decide(autoscaler, looked, history, at)
        written = writes[number] if number < len(writes) else Written()
        write = written if decision.rescales and not withheld else None
        conclusion = conclude(autoscaler, looked.status, decision, write, concluded)
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
                withheld=withheld,
            )
        )
        history, status = conclusion.history, _as_it_comes_back(conclusion.status)
    return lines


def _as_it_comes_back(status: Status) -> Status:
    try:
        return status_from(status_to(status))
    except ValueError:
        return status  # it is of a time that cannot be written


CPU: Final = hpa(cpu(50), settings=settings(downscale_stabilization_s=60))


def rising_and_falling(autoscaler: Autoscaler = CPU) -> list[bytes]:
    """Eight syncs: the load rises, the replicas follow, the load falls; with 1000m requested per pod."""
    loads = ((2, 300), (2, 640), (2, 800), (4, 400), (4, 200), (4, 100), (4, 100), (2, 100))
    seen = [observation(scale(replicas), usage(*[milli] * replicas)) for replicas, milli in loads]
    return ticks(autoscaler, seen)


WINDOWLESS: Final = Variant("at once", ("downscaleStabilization=0s",))
LINES: Final = rising_and_falling()
GOOD: Final = b"".join((header(CPU), *LINES))


def written(path: Path, data: bytes = GOOD) -> Path:
    """The path, with these bytes in it, compressed if its name says so."""
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def frames(*paths: Path, variants: tuple[Variant, ...] = (AS_RECORDED,)) -> list[Frame]:
    """Every sync of these files."""
    return [frame for opening in grouped(paths) for frame in opening().frames(variants)]


def decisions(*paths: Path, variant: Variant) -> list[tuple[Decision, Decision]]:
    """What was decided as recorded, and under a variant."""
    found = []
    for frame in frames(*paths, variants=(AS_RECORDED, variant)):
        recorded, other = frame.moments
        found.append((recorded.decision, other.decision))
    return found


def desired(*paths: Path, variant: Variant) -> list[tuple[int | None, int | None]]:
    """The replicas they asked for."""
    return [(recorded.desired, other.desired) for recorded, other in decisions(*paths, variant=variant)]


def altered(line: bytes, **fields: Any) -> bytes:
    """A line with other values in these fields."""
    return msgspec.json.encode(msgspec.json.decode(line) | fields) + b"\n"


def parts(folder: Path) -> list[Path]:
    """Three files of one run."""
    return [
        written(folder / f"{part}.jsonl", b"".join((header(CPU, part=part), *LINES[first : first + 3])))
        for part, first in ((1, 0), (2, 3), (3, 6))
    ]
