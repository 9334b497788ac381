"""The HTTP API of the lab's Prometheus: instant queries, and what there is to query."""

from __future__ import annotations

import math
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

import msgspec
from aiohttp import web

from controller.lab.listening import Listener
from controller.lab.prometheus.evaluation import evaluate
from controller.lab.prometheus.promql import QueryError, parse, parse_selector
from controller.lab.prometheus.series import SeriesStore, seen_between

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from controller.lab.clock import LabClock
    from controller.lab.prometheus.series import Series

_API: Final = "/api/v1/"
_HEALTH: Final = ("/-/healthy", "/-/ready")
_SERVED: Final = "query, series, labels and label/NAME/values"
_BODY_BYTES_MAX: Final = 1024 * 1024


class _Refused(Exception):
    """A request that is answered with an error."""

    def __init__(self, message: str, kind: str = "bad_data", status: int = 400) -> None:
        super().__init__(message)
        self.kind = kind
        self.status = status


class LabPrometheus:
    """A Prometheus over a store of series, from `start` to `stop`.

    Attributes:
        store: What it knows.

    Args:
        clock: Says which time it is where a query names none.
        store: What it answers from; filled by somebody else.
        port: On 127.0.0.1; a free one when 0. It stays the same over restarts.

    """

    def __init__(self, clock: LabClock, store: SeriesStore, port: int = 0) -> None:
        self.store = store
        self._clock = clock
        self._listener = Listener(self._handle, port)

    @property
    def url(self) -> str:
        """Where it is found, without a slash at the end; the port is known after the first start."""
        return f"http://127.0.0.1:{self._listener.port}"

    async def start(self) -> None:
        """Listen; raises OSError when the port is taken and RuntimeError when it is running already."""
        await self._listener.start()

    async def stop(self) -> None:
        """Stop listening and cut all connections; nothing happens when it does not run."""
        await self._listener.stop()

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.path in _HEALTH:
            return web.Response(text="The lab's Prometheus is ready.\n")
        try:
            data = self._answer(request.path, await _parameters(request))
        except QueryError as error:
            return _error(str(error), "bad_data", 400)
        except _Refused as error:
            return _error(str(error), error.kind, error.status)
        return _json({"status": "success", "data": data}, 200)

    def _answer(self, path: str, asked: Mapping[str, list[str]]) -> Any:
        what = path.removeprefix(_API) if path.startswith(_API) else ""
        match what.split("/"):
            case ["query"]:
                return self._query(asked)
            case ["series"]:
                if "match[]" not in asked:
                    raise _Refused("no match[] parameter provided")
                return [series.labels for series in self._listed(asked)]
            case ["labels"]:
                return sorted({label for series in self._listed(asked) for label in series.labels})
            case ["label", name, "values"]:
                return sorted({series.labels[name] for series in self._listed(asked) if name in series.labels})
            case _:
                text = f"{path} is not served: the lab's Prometheus has {_SERVED} below {_API}"
                raise _Refused(text, "not_found", 404)

    def _query(self, asked: Mapping[str, list[str]]) -> Any:
        at_s = self._time_s(asked, "time", self._clock.now().timestamp())
        query = asked.get("query", [""])[0]
        vector = evaluate(parse(query), self.store, at_s)
        result = [{"metric": one.labels, "value": [round(at_s, 3), _number(one.value)]} for one in vector]
        return {"resultType": "vector", "result": result}

    def _listed(self, asked: Mapping[str, list[str]]) -> Iterable[Series]:
        """The series that any `match[]` matches, all without one, as far as they have a value in the time."""
        begin_s = self._time_s(asked, "start", -math.inf)
        end_s = self._time_s(asked, "end", math.inf)
        selectors = [parse_selector(text) for text in asked.get("match[]", [])]
        return [
            series
            for series in self.store.everything()
            if (not selectors or any(selector.matches(series.labels) for selector in selectors))
            and seen_between(series, begin_s, end_s)
        ]

    def _time_s(self, asked: Mapping[str, list[str]], name: str, otherwise_s: float) -> float:
        if name not in asked:
            return otherwise_s
        text = asked[name][0]
        try:
            found_s = float(text)
        except ValueError:
            try:
                found_s = datetime.fromisoformat(text).timestamp()
            except ValueError as error:
                raise _Refused(f"invalid parameter {name!r}: cannot parse {text!r} to a valid timestamp") from error
        if not math.isfinite(found_s):
            raise _Refused(f"invalid parameter {name!r}: {text!r} is no time")
        return found_s


async def _parameters(request: web.BaseRequest) -> dict[str, list[str]]:
    """Those of the address, and of a form that was posted."""
    if request.method not in ("GET", "POST"):
        raise _Refused(f"{request.method} is not served", "bad_data", 405)
    pairs: list[tuple[str, Any]] = list(request.query.items())
    if request.method == "POST":
        if (request.content_length or 0) > _BODY_BYTES_MAX:
            raise _Refused(f"the form is larger than {_BODY_BYTES_MAX} bytes", status=413)
        pairs += (await request.post()).items()
    found: dict[str, list[str]] = {}
    for name, value in pairs:
        found.setdefault(name, []).append(str(value))
    return found


def _error(message: str, kind: str, status: int) -> web.Response:
    return _json({"status": "error", "errorType": kind, "error": message}, status)


def _json(content: Any, status: int) -> web.Response:
    return web.Response(body=msgspec.json.encode(content), content_type="application/json", status=status)


def _number(value: float) -> str:
    """A number as Prometheus writes it."""
    if math.isfinite(value):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)  # noqa: PLR2004 - as exact
    return "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"
