"""How many statuses are written while kube-apiserver collects its garbage, and how many while it does not.

``python -m tests.bench_cluster.server_collections FOLDER/CELL/logs`` after a run with ``GODEBUG=gctrace=1`` in its
environment and ``--logs FOLDER``. It looks at the last minute before the load changed and everything was rescaled.
"""

from __future__ import annotations

import argparse
import datetime as dt
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from tests.bench_cluster.requests import request_of

if TYPE_CHECKING:
    from collections.abc import Sequence

LOOKED_AT_S: Final = 60.0
OURS: Final = "system:serviceaccount:kube-system:bench-ours"
"""As whom hpa-controller runs in the benchmark."""

_COLLECTION: Final = re.compile(r"gc \d+ @([\d.]+)s \d+%: ([\d.]+)\+([\d.]+)\+([\d.]+) ms clock")
_LOGGED: Final = re.compile(r"^[IWEF](\d\d)(\d\d) (\d\d):(\d\d):(\d\d\.\d+) ", re.MULTILINE)


class Rates(msgspec.Struct, frozen=True):
    """Status writes a second during collections and outside of them, and what share of the time they took."""

    during: float
    outside: float
    share: float


def collections_in(log: str, year: int) -> list[tuple[float, float]]:
    """When each collection of a log of klog and gctrace began and ended, wall time in seconds.

    The trace counts from the start of the process: that is taken from the first line with a time of day.

    Raises ValueError for a log without such lines.
    """
    logged = _LOGGED.search(log)
    traced = _COLLECTION.search(log)
    if logged is None or traced is None:
        raise ValueError("no lines of gctrace: run with GODEBUG=gctrace=1")
    before = [float(found[1]) for found in _COLLECTION.finditer(log, 0, logged.start())]
    month, day, hour, minute, second = logged.groups()
    moment = dt.datetime(year, int(month), int(day), int(hour), int(minute)).astimezone()  # local
    started_s = moment.timestamp() + float(second) - max(before, default=0.0)
    spans = []
    for found in _COLLECTION.finditer(log):
        began_s = started_s + float(found[1])
        spans.append((began_s, began_s + sum(map(float, found.groups()[1:])) / 1000))
    return spans


def rates(written_s: Sequence[float], spans: Sequence[tuple[float, float]], end_s: float) -> Rates:
    """Of the LOOKED_AT_S before a moment."""
    begin_s = end_s - LOOKED_AT_S
    cut = [(max(first, begin_s), min(last, end_s)) for first, last in spans if first < end_s and last > begin_s]
    collecting_s = sum(last - first for first, last in cut)
    looked_at = [at for at in written_s if begin_s <= at < end_s]
    during = sum(any(first <= at < last for first, last in cut) for at in looked_at)
    rest_s = LOOKED_AT_S - collecting_s
    return Rates(
        during / collecting_s if collecting_s else 0.0,
        (len(looked_at) - during) / rest_s if rest_s else 0.0,
        collecting_s / LOOKED_AT_S,
    )


def main(arguments: Sequence[str]) -> int:
    """Prints the rates; 2 if the logs do not tell."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench_cluster.server_collections", description=__doc__)
    parser.add_argument("folder", type=Path, help="with audit.log and kube-apiserver.log")
    folder: Path = parser.parse_args(arguments).folder
    written_s, rescaled_s = [], []
    with (folder / "audit.log").open("rb") as stream:
        for line in stream:
            request = request_of(line, OURS)
            if request is not None and request.is_scale_write:
                rescaled_s.append(request.received_s)
            elif request is not None and request.is_status_write and request.accepted:
                written_s.append(request.received_s)
    if not rescaled_s:
        print(f"{folder}: nothing was rescaled", file=sys.stderr)  # noqa: T201
        return 2
    end_s = min(rescaled_s)
    year = dt.datetime.fromtimestamp(end_s, dt.UTC).year
    try:
        spans = collections_in((folder / "kube-apiserver.log").read_text(encoding="utf-8"), year)
    except ValueError as error:
        print(f"{folder}/kube-apiserver.log: {error}", file=sys.stderr)  # noqa: T201
        return 2
    found = rates(written_s, spans, end_s)
    lasting = [last - first for first, last in spans if end_s - LOOKED_AT_S < first < end_s]
    print(  # noqa: T201
        f"kube-apiserver collects for {found.share:.0%} of the time, {len(lasting)} times in {LOOKED_AT_S:g} s, for "
        f"{min(lasting, default=0.0):.1f} to {max(lasting, default=0.0):.1f} s\n"
        f"status writes a second: {found.during:.0f} meanwhile, {found.outside:.0f} otherwise"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
