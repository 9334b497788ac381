"""The way of every request: identity, faults, the right handler, and errors in the server's own form."""

from __future__ import annotations

import asyncio
import hmac
import logging
import random
import uuid
from typing import TYPE_CHECKING
from urllib.parse import unquote

import msgspec
from aiohttp import web

from controller.lab.faults import Delay, Drop, Garbage, Refuse, RequestFault, Truncate
from controller.lab.objects import errors
from controller.lab.request_log import RequestLog, RequestRecord
from controller.lab.serving import discovery, openapi, patches, reads, writes
from controller.lab.serving.metrics_api import read_metrics
from controller.lab.serving.negotiation import accepts_json, clauses
from controller.lab.serving.route import Route, parse_route
from controller.lab.serving.service import (
    BODY_MAX_BYTES,
    Exchange,
    Service,
    UnknownPathError,
    find_endpoint,
    json_response,
)
from controller.lab.serving.watches import WatchStream, watch_options

if TYPE_CHECKING:
    from collections.abc import Callable

    from controller.lab.objects.resources import Endpoint

_LOGGER = logging.getLogger(__name__)
_HEALTH = ("/healthz", "/livez", "/readyz")
_REASONS = {
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    409: "Conflict",
    410: "Expired",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}
_READ_METHODS = ("GET", "HEAD")
# A status and a scale are parts of their object: nobody can make or delete them by themselves.
_SUBRESOURCE_METHODS = ("GET", "PUT", "PATCH")


class Front:
    """Answers requests.

    Args:
        service: The server's state.
        log: Where requests are written down.
        token: The bearer token that is required, or None when anybody may do anything.
        gzip_threshold_bytes: Answers from this size on are compressed when the client accepts it.

    """

    def __init__(self, service: Service, log: RequestLog, token: str | None, gzip_threshold_bytes: int) -> None:
        self._service = service
        self._log = log
        self._token = token
        self._gzip_threshold_bytes = gzip_threshold_bytes
        self._random = random.Random(0)  # noqa: S311 - numbers requests, protects nothing

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """The answer to one request; every failure becomes an answer, too."""
        raw_path = request.rel_url.raw_path
        path = "/".join(unquote(segment) for segment in raw_path.split("/"))
        route = parse_route(request.method, raw_path, request.query)
        record = RequestRecord(
            method=request.method,
            path=path,
            query=request.rel_url.raw_query_string,
            user_agent=request.headers.get("User-Agent", ""),
            verb=route.verb,
            arrived_s=self._service.loop_time_s(),
        )
        self._log.append(record)
        try:
            response = await self._answer(request, route, record)
        except errors.ApiError as error:
            response = _refusal(error)
        except UnknownPathError:
            response = web.Response(status=404, text="404 page not found\n")
        except ConnectionError:
            response = web.Response(status=503)
        except Exception:
            _LOGGER.exception("the lab failed on %s %s", request.method, path)
            response = _refusal(errors.internal_error("the lab has a bug; its log has the traceback"))
        record.status = response.status
        if not response.prepared:
            response.headers["Audit-Id"] = str(uuid.UUID(int=self._random.getrandbits(128), version=4))
            response.headers["Cache-Control"] = "no-cache, private"
            self._compress(request, response)
        return response

    async def _answer(self, request: web.BaseRequest, route: Route, record: RequestRecord) -> web.StreamResponse:
        self._authenticate(request, route)
        record.body = await _read_body(request)
        exchange = Exchange(request, route, request.query, record.body)
        faults = self._service.faults.of_request(route)
        for fault in faults:
            match fault:
                case Delay():
                    await asyncio.sleep(fault.seconds)
                case Drop():
                    _cut(request)
                    return web.Response(status=503)
                case Refuse():
                    raise _refused(fault)
                case Garbage() | Truncate():
                    continue
        if route.verb == "watch" and not route.serves_metrics:
            return await self._watch(exchange, record, faults)
        return await _damaged(request, self._dispatch(exchange), faults)

    def _authenticate(self, request: web.BaseRequest, route: Route) -> None:
        if self._token is None or route.path.startswith(_HEALTH):
            return
        given = request.headers.get("Authorization", "").removeprefix("Bearer ")
        if not hmac.compare_digest(given.encode(), self._token.encode()):
            raise errors.unauthorized()

    def _dispatch(self, exchange: Exchange) -> web.Response:
        route, service = exchange.route, self._service
        if not route.plural:
            return self._document(exchange)
        if route.serves_metrics:
            return read_metrics(service, exchange)
        endpoint = find_endpoint(service, route)
        method = exchange.request.method
        handler = _HANDLERS.get((method, bool(route.name)))
        if handler is None or (route.subresource and method not in _SUBRESOURCE_METHODS):
            raise errors.method_not_supported()
        return handler(service, exchange, endpoint)

    def _document(self, exchange: Exchange) -> web.Response:
        service, path = self._service, exchange.route.path.rstrip("/") or "/"
        if exchange.request.method not in _READ_METHODS:
            raise UnknownPathError
        if path.startswith(_HEALTH):
            return web.Response(text="ok")
        if path == "/version":
            return json_response(msgspec.json.encode(discovery.VERSION))
        if path.startswith("/openapi/"):
            return self._openapi(exchange, path)
        found = discovery.document(service, path, exchange.accept)
        if found is None:
            raise _unknown_document(service, path)
        content, media_type = found
        response = json_response(msgspec.json.encode(content))
        response.headers["Content-Type"] = media_type
        return response

    def _openapi(self, exchange: Exchange, path: str) -> web.Response:
        if not any(accepts_json(clause) for clause in clauses(exchange.accept)):
            raise errors.not_acceptable(("application/json",))
        content = None
        if path == "/openapi/v2":
            content = openapi.openapi_v2(self._service)
        elif path == "/openapi/v3":
            content = openapi.openapi_v3_index(self._service)
        elif path.startswith("/openapi/v3/"):
            content = openapi.openapi_v3(self._service, path.removeprefix("/openapi/v3/"))
        if content is None:
            raise UnknownPathError
        return json_response(msgspec.json.encode(content))

    async def _watch(self, exchange: Exchange, record: RequestRecord, faults: list[RequestFault]) -> web.StreamResponse:
        endpoint = find_endpoint(self._service, exchange.route)
        options = watch_options(self._service, exchange, endpoint)
        stream = WatchStream(self._service, exchange, endpoint, options)
        try:
            first = stream.start()
        except errors.ApiError as error:
            if error.reason != "Expired" or self._service.watch.expired_as_status:
                raise
            status = msgspec.json.encode(error.status())
            response = await _open_stream(exchange.request, record)
            await response.write(b'{"type":"ERROR","object":' + status + b"}\n")
            return response
        response = await _open_stream(exchange.request, record)
        for fault in faults:
            if isinstance(fault, Garbage):
                first = [fault.body, *first]
            elif isinstance(fault, Truncate):
                await response.write(b"".join(first)[: fault.after_bytes])
                _close(exchange.request)
                return response
        await stream.run(response, first)
        return response

    def _compress(self, request: web.BaseRequest, response: web.StreamResponse) -> None:
        accepts = "gzip" in request.headers.get("Accept-Encoding", "")
        large = isinstance(response, web.Response) and (response.content_length or 0) >= self._gzip_threshold_bytes
        if accepts and large and request.method == "GET":
            response.enable_compression(web.ContentCoding.gzip)


def _unknown_document(service: Service, path: str) -> Exception:
    """What a path without a document is answered with.

    A Status below groups of built-in kinds, else plain text.
    """
    match path.split("/"):
        case ["", "apis", group, _] if any(
            served.group == group and not served.resource.custom for served in service.world.registry
        ):
            return errors.unknown_resource()
        case _:
            return UnknownPathError()


async def _read_body(request: web.BaseRequest) -> bytes:
    body = bytearray()
    async for chunk in request.content.iter_any():
        body += chunk
        if len(body) > BODY_MAX_BYTES:
            text = f"Request entity too large: limit is {BODY_MAX_BYTES}"
            raise errors.ApiError(413, "RequestEntityTooLarge", text)
    return bytes(body)


async def _open_stream(request: web.BaseRequest, record: RequestRecord) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "application/json", "Cache-Control": "no-cache, private"})
    response.enable_chunked_encoding()
    await response.prepare(request)
    record.status = 200
    return response


async def _damaged(request: web.BaseRequest, response: web.Response, faults: list[RequestFault]) -> web.StreamResponse:
    for fault in faults:
        if isinstance(fault, Garbage):
            return web.Response(body=fault.body, content_type="application/json")
        if isinstance(fault, Truncate) and isinstance(response.body, bytes):
            partial = web.StreamResponse(status=response.status, headers={"Content-Type": "application/json"})
            partial.content_length = len(response.body)
            await partial.prepare(request)
            await partial.write(response.body[: fault.after_bytes])
            _close(request)
            return partial
    return response


def _cut(request: web.BaseRequest) -> None:
    if request.transport is not None:
        request.transport.abort()


def _close(request: web.BaseRequest) -> None:
    if request.transport is not None:
        request.transport.close()


def _refused(fault: Refuse) -> errors.ApiError:
    details = {"retryAfterSeconds": fault.retry_after_s} if fault.retry_after_s else {}
    return errors.ApiError(fault.code, _REASONS.get(fault.code, ""), fault.message, details=details)


def _refusal(error: errors.ApiError) -> web.Response:
    response = json_response(msgspec.json.encode(error.status()), error.code)
    if error.retry_after_s:
        response.headers["Retry-After"] = str(error.retry_after_s)
    return response


_HANDLERS: dict[tuple[str, bool], Callable[[Service, Exchange, Endpoint], web.Response]] = {
    ("GET", True): reads.read_object,
    ("GET", False): reads.read_list,
    ("POST", False): writes.create,
    ("PUT", True): writes.replace,
    ("PATCH", True): patches.patch,
    ("DELETE", True): writes.remove,
    ("DELETE", False): writes.remove_collection,
}
