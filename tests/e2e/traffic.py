"""What a controller and an API server said to each other, without what differs from one time to the next."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from tests.e2e.recording_proxy import Exchange

# Their values are numbers of the server, or times.
_VARYING_QUERIES = {"resourceVersion", "timeoutSeconds"}
# Objects whose keys are data.
_MAPS = {"labels", "annotations", "fieldsV1", "usage", "matchLabels", "requests", "nodeSelector", "metricLabels"}


def talk(exchanges: Sequence[Exchange], namespace: str) -> dict[str, set[str]]:
    """Facts about the traffic by what was asked: method, path and query with the namespace left out.

    The facts are the headers that matter, the status, and each path into a JSON body with the type found there.
    """
    facts: dict[str, set[str]] = defaultdict(set)
    for exchange in exchanges:
        if not exchange.code:
            continue  # cut off by the end
        known = facts[_asked(exchange, namespace)]
        for name in ("Accept", "Content-Type"):
            known.add(f"request header {name}: {exchange.headers.get(name, '-')}")
        known.update(f"request body {fact}" for fact in _shape(exchange.sent_object()))
        known.add(f"status {exchange.code}")
        known.add(f"answer header Content-Type: {exchange.answer_headers.get('Content-Type', '-')}")
        for body in exchange.answered():
            known.update(f"answer {exchange.code} {fact}" for fact in _answer_shape(exchange, body))
    return dict(facts)


def sequences(exchanges: Iterable[Exchange], namespace: str) -> dict[str, list[str]]:
    """Methods and statuses in their order, by path, each once for as often as it is repeated at a stretch.

    A conflict, and the read that answers it, are left out: whether another's write came between is chance.
    """
    found: dict[str, list[str]] = defaultdict(list)
    conflicted = set()
    for exchange in exchanges:
        if not exchange.code:
            continue
        path, step = _path(exchange, namespace), f"{exchange.method} {exchange.code}"
        if step == "PUT 409":
            conflicted.add(path)
        elif path in conflicted and step == "GET 200":
            conflicted.discard(path)
        elif found[path][-1:] != [step]:
            found[path].append(step)
    return dict(found)


def scale_writes(exchanges: Iterable[Exchange], namespace: str) -> dict[str, list[int]]:
    """The replicas that were accepted, by path of the scale."""
    written: dict[str, list[int]] = defaultdict(list)
    for exchange in exchanges:
        if exchange.method == "PUT" and exchange.path.endswith("/scale") and exchange.code == 200:
            written[_path(exchange, namespace)].append(exchange.sent_object()["spec"].get("replicas", 0))
    return dict(written)


def events(exchanges: Iterable[Exchange], namespace: str) -> set[tuple[str, str, str, str]]:
    """Object, type, reason and message of all events that were created."""
    created = set()
    for exchange in exchanges:
        if exchange.method == "POST" and exchange.path.endswith("/events") and exchange.code == 201:
            event = exchange.sent_object()
            message = event["message"].replace(namespace, "{namespace}")
            created.add((event["involvedObject"]["name"], event["type"], event["reason"], message))
    return created


def differences(real: Mapping[str, set[str]], other: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """The facts that hold for one side only, each with ``+`` if the other side alone has it and ``-`` if it lacks it.

    Of what was asked of one side only, all that is said is that.
    """
    found = {}
    for asked in real.keys() | other.keys():
        if asked not in other:
            found[asked] = {"- never asked"}
        elif asked not in real:
            found[asked] = {"+ never asked of the real one"}
        else:
            lacks = {f"- {fact}" for fact in real[asked] - other[asked]}
            if facts := lacks | {f"+ {fact}" for fact in other[asked] - real[asked]}:
                found[asked] = facts
    return found


def _path(exchange: Exchange, namespace: str) -> str:
    path = exchange.path.replace(f"/{namespace}", "/{namespace}")
    # An event's name ends in a number that is made anew for each.
    return re.sub(r"(/events/[^.]+)\..*", r"\1.{id}", path)


def _asked(exchange: Exchange, namespace: str) -> str:
    query = "&".join(
        f"{name}={'{varies}' if name in _VARYING_QUERIES else value}" for name, value in sorted(exchange.query.items())
    )
    return f"{exchange.method} {_path(exchange, namespace)}" + (f"?{query}" if query else "")


def _answer_shape(exchange: Exchange, body: Any) -> Iterator[str]:
    if exchange.watches and exchange.code == 200:
        yield from _shape(body["object"], f"{body['type']} ")
    else:
        yield from _shape(body)


def _shape(value: Any, at: str = "") -> Iterator[str]:
    """Each path into a value with the type that is found there."""
    match value:
        case {} if not value:
            yield f"{at}: empty"
        case [] if not value:
            yield f"{at}: empty"
        case dict():
            for name, inner in value.items():
                if name in _MAPS:
                    yield f"{at}.{name}: map"
                else:
                    yield from _shape(inner, f"{at}.{name}")
        case list():
            for inner in value:
                yield from _shape(inner, f"{at}[]")
        case None:
            yield f"{at}: null"
        case _:
            yield f"{at}: {type(value).__name__}"
