"""Inputs by the thousand through every surface, what came of them counted."""

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from random import Random
from typing import Any, Final

import msgspec

from tests.sweep.damage import bomb, broken, huge, spoiled
from tests.sweep.judgement import complaint, shape
from tests.sweep.surfaces import Said, Surface, surfaces

HEAVY_EVERY: Final = 500
"""Every so many inputs one is a bomb or has a megabyte in it: they cost as much as hundreds of others."""

SHAPES_MAX: Final = 100_000
CALLS_PER_BYTE_MAX: Final = 30
CALLS_FREE: Final = 20_000
_FAILURES_MAX: Final = 20


class Tally(msgspec.Struct):
    """What came of the inputs of one surface; `slowest_us` is per input and kilobyte of it (at least one)."""

    name: str
    taken: int = 0
    refused: int = 0
    shapes: set[str] = msgspec.field(default_factory=set)
    slowest_us: float = 0.0
    slowest_bytes: int = 0
    failures: list[str] = msgspec.field(default_factory=list)

    @property
    def inputs(self) -> int:
        """All of them."""
        return self.taken + self.refused


def generated(surface: Surface, random: Random, count: int, *, heavy: bool = True) -> Iterator[bytes]:
    """So many inputs for a surface; the same for the same seed."""
    for number in range(count):
        document = random.choice(surface.documents)
        if heavy and number % HEAVY_EVERY == HEAVY_EVERY - 1:
            yield random.choice((bomb, huge, lambda dice, whole=document: _spoiled(surface, dice, whole, 1.0)))(random)
        elif random.random() < 0.7:
            yield _spoiled(surface, random, document, 0.0)
        else:
            yield broken(random, document)


def sweep(surface: Surface, inputs: Iterator[bytes], tally: Tally, *, clock: Callable[[], float] | None = None) -> None:
    """Read every input and judge what is said; with a clock (seconds), find the one that takes longest for its size."""
    for data in inputs:
        began_s = clock() if clock is not None else 0.0
        problem = None
        try:
            said = surface.read(data)
            problem = complaint(said)
        except Exception as error:  # noqa: BLE001 - nothing may be raised: this is what we look for
            said = Said(taken=False)
            problem = f"raised {type(error).__name__}: {str(error)[:200]}"
        if clock is not None:
            _time(surface, data, tally, clock() - began_s, clock)
        tally.taken += said.taken
        tally.refused += not said.taken
        if len(tally.shapes) < SHAPES_MAX:
            tally.shapes.update(map(shape, said.messages))
        if problem is not None and len(tally.failures) < _FAILURES_MAX:
            tally.failures.append(f"{surface.name}: {problem} - of {data[:1000]!r} ({len(data)} bytes)")


def run(seed: int, count: int, *, heavy: bool = True, timed: bool = False) -> list[Tally]:
    """So many inputs altogether, evenly over the surfaces."""
    tallies = []
    known = surfaces()
    for surface in known:
        tally = Tally(surface.name)
        inputs = generated(surface, Random(f"{seed} {surface.name}"), -(-count // len(known)), heavy=heavy)  # noqa: S311 - repeatable
        sweep(surface, inputs, tally, clock=time.process_time if timed else None)
        tallies.append(tally)
    return tallies


def calls_of(work: Callable[[], object]) -> int:
    """How many calls of functions the work takes: a measure that does not depend on the machine."""
    count = 0

    def counted(_frame: object, event: str, _argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(counted)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


def _spoiled(surface: Surface, random: Random, document: bytes, heavy: float) -> bytes:
    hits = random.choice((1, 1, 1, 2, 4))
    if not surface.in_lines:
        return spoiled(random, document, hits, heavy=heavy)
    lines = document.splitlines()
    at = random.randrange(len(lines))
    lines[at] = spoiled(random, lines[at], hits, heavy=heavy)
    if random.random() < 0.1:
        random.shuffle(lines)
    return b"\n".join(lines) + b"\n"


def _time(surface: Surface, data: bytes, tally: Tally, took_s: float, clock: Callable[[], float]) -> None:
    kilobytes = max(1.0, len(data) / 1024)
    if took_s * 1e6 / kilobytes <= tally.slowest_us:
        return
    # Once more: a first use or the garbage of others may have been in it. What it raises has been noted.
    began_s = clock()
    with contextlib.suppress(Exception):
        surface.read(data)
    relative = min(took_s, clock() - began_s) * 1e6 / kilobytes
    if relative > tally.slowest_us:
        tally.slowest_us, tally.slowest_bytes = relative, len(data)
