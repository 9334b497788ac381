"""Makes a plan for the null client of what our controller has been seen to send."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from tests.bench_cluster.null_client import Plan, Planned
from tests.bench_cluster.requests import Request
from tests.e2e import autoscalers
from tests.e2e.control_plane import ControlPlane


def plan_of(
    plane: ControlPlane,
    token: str,
    requests: Sequence[Request],
    bodies: Mapping[str, str],
    start_s: float,
    period_s: float,
) -> Plan:
    """The requests of one period from start_s on, at the moments at which they came; watches beside them.

    bodies are what status writes send, by the HPA's key. Leases are left out: there is nobody to elect.
    """
    url = urlsplit(plane.url)
    return Plan(
        host=url.hostname or "",
        port=url.port or 0,
        authority=str(plane.files.authority.certificate),
        token=token,
        period_s=period_s,
        requests=planned(requests, bodies, start_s, period_s),
        watches=sorted({_from_now(request.target) for request in requests if request.verb == "watch"}),
    )


def write_plan(plan: Plan, folder: Path) -> Path:
    """A new file in folder, which only its owner may read, since there is a token in it."""
    path = folder / "null-client.json"
    path.touch(mode=0o600)
    path.write_bytes(msgspec.json.encode(plan))
    return path


def planned(requests: Iterable[Request], bodies: Mapping[str, str], start_s: float, period_s: float) -> list[Planned]:
    """The requests of one period in the order of their moments: a status write of every HPA, and the reads there were.

    Scales are read in first syncs only, which are over. An HPA that was not written in this period, perhaps because it
    was late, gets a moment of its own.
    """
    written_s: dict[str, float] = {}
    found: list[Planned] = []
    for request in requests:
        offset_s = request.received_s - start_s
        if not 0 <= offset_s < period_s:
            continue
        if request.is_status_write:
            written_s.setdefault(request.key, offset_s)
        elif request.reads and "leases" not in request.resource and "/scale" not in request.resource:
            found.append(Planned(offset_s, "GET", request.target))
    for number, (key, body) in enumerate(bodies.items()):
        offset_s = written_s.get(key, number / len(bodies) * period_s)
        namespace, _, name = key.partition("/")
        found.append(Planned(offset_s, "PUT", autoscalers.path(namespace, name, "status"), body))
    return sorted(found, key=lambda one: one.offset_s)


def _from_now(target: str) -> str:
    """A watch from the present on, whatever version it was begun at, without a list before it."""
    path = target.partition("?")[0]
    return f"{path}?watch=true&allowWatchBookmarks=true&resourceVersion=0"
