"""Every way a request can fail, mapped to the errors the spine acts on."""

import asyncio
import ssl
from collections.abc import Callable, Mapping
from typing import Final, TypeVar

import aiohttp
import msgspec
from aiohttp.http import HttpProcessingError

from controller.kube.permissions import no_advice
from controller.os_errors import why
from controller.ports import (
    ApiError,
    Conflict,
    Expired,
    NotFound,
    Refused,
    Rejected,
    ServerFailure,
    Terminating,
    Throttled,
    Unreachable,
)
from controller.wire.errors import WireError, printable, wire_errors
from controller.wire.objects import Status, decode_status

T = TypeVar("T")


class Untrusted(Unreachable):
    """The server's certificate is not accepted; waiting does not help."""


TRANSPORT_ERRORS: Final[tuple[type[Exception], ...]] = (
    aiohttp.ClientError,
    HttpProcessingError,
    asyncio.TimeoutError,
    ssl.SSLError,
    OSError,
)
"""What the HTTP library raises where there is no answer; a test fails when it grows an error beyond these."""

_TERMINATING: Final = "NamespaceTerminating"
_OK: Final = 200
_SUCCESS_END: Final = 300
_REDIRECTION_END: Final = 400
_SERVER_ERRORS: Final = 500
_TEXT_MAX: Final = 1000
_UNSAID: Final[dict[type[BaseException], str]] = {TimeoutError: "no answer in time"}
"""What errors mean that have no words of their own."""


def error_of(
    status: int, headers: Mapping[str, str], body: bytes, advise: Callable[[str], str] = no_advice
) -> ApiError:
    """The error that an answer with this HTTP status stands for; `advise` gives what to add to a refusal."""
    said = decode_status(body)
    message = _message(status, headers, said)
    retry_after_s = _retry_after_s(headers)
    match status:
        case 404:
            return NotFound(message, status, said.reason)
        case 409:
            return Conflict(message, status, said.reason)
        case 410:
            return Expired(message, status, said.reason)
        case 429:
            return Throttled(message, retry_after_s)
        case 403 if said.has_cause(_TERMINATING):
            return Terminating(message, status, said.reason)
        case 401 | 403:
            return Refused(f"{message}{advise(message)}", status, said.reason)
        case _:
            pass
    if status >= _SERVER_ERRORS:
        return ServerFailure(message, status, said.reason, retry_after_s)
    return Rejected(message, status, said.reason)


def error_of_event(body: bytes) -> ApiError:
    """The error that an ERROR line of a watch carries as a Status."""
    said = decode_status(body)
    if said.reason in ("Expired", "Gone"):
        return Expired(said.message, said.code, said.reason)
    return error_of(said.code or _SERVER_ERRORS, {}, body)


def decoded(body: bytes, shape: type[T], what: str) -> T:
    """A successful answer; fields that `shape` does not have are passed over.

    Raises:
        ServerFailure: it has another form, as from a proxy's login page; `what` begins the sentence.
    """
    try:
        return _decoded(body, shape)
    except WireError as error:
        raise ServerFailure(f"{what} cannot be decoded: {error}", _OK) from error


@wire_errors
def _decoded(body: bytes, shape: type[T]) -> T:
    return msgspec.json.decode(body, type=shape)


def unreachable(error: BaseException) -> Unreachable:
    """The error for an exception of the HTTP library."""
    match error:
        case TimeoutError():
            return Unreachable(f"no answer in time ({type(error).__name__})")
        case aiohttp.ClientConnectorCertificateError(certificate_error=cause):
            problem = cause.verify_message if isinstance(cause, ssl.SSLCertVerificationError) else str(cause)
            return Untrusted(f"its certificate is not trusted: {problem}")
        case aiohttp.ClientConnectorError():
            return connect_failure(error.host, error.port, error.os_error)
        case aiohttp.ServerDisconnectedError():
            # Its text is a dump of the half answer.
            return Unreachable("the connection was closed before the answer was complete")
        case aiohttp.ClientResponseError():
            return Unreachable(reason_of(error))
        case aiohttp.ClientPayloadError():
            return Unreachable(f"the answer was cut off or damaged: {_one_line(str(error))}")
        case aiohttp.InvalidURL():
            return Unreachable(f"{str(error)!r} is no address")
        case _:
            return Unreachable(_one_line(str(error)) or type(error).__name__)


def connect_failure(host: str, port: int | None, error: OSError | ValueError) -> Unreachable:
    """The error for a connection that there is not."""
    return Unreachable(f"cannot connect to {host}:{port}: {reason_of(error)}")


def untraced(error: BaseException) -> BaseException:
    """The error itself, without the tracebacks that it and what led to it carry.

    aiohttp's stream keeps the error that ended it, and the error's traceback keeps the stream: every watch that is
    cut would stay, connection and all, until the collector has worked its way up to it. An error that is kept for all
    who come would keep what each of them was doing. The task that has asked keeps the error, whose frames keep their
    timeout, and that the task.
    """
    link: BaseException | None = error
    seen: set[int] = set()  # an error that is raised again may have led to itself
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        link.__traceback__ = None
        # In Debian's Python 3.11.2 asyncio.timeout does not name the cancellation as the cause of its error. What else
        # an error has come upon is not its own: it may be what the caller is dealing with.
        hidden = link.__context__ if isinstance(link, TimeoutError) else None
        link = link.__cause__ or hidden
    return error


def reason_of(error: BaseException) -> str:
    """Why there was no answer, in few words."""
    if isinstance(error, aiohttp.ClientResponseError):
        return f"the answer is no valid HTTP: {_one_line(error.message)}"
    return (why(error) if isinstance(error, OSError) else str(error)) or _UNSAID.get(type(error), type(error).__name__)


def _message(status: int, headers: Mapping[str, str], said: Status) -> str:
    """What the server said; of a page that no API server writes, also with which status."""
    if _SUCCESS_END <= status < _REDIRECTION_END:
        return f"a redirection to {_one_line(headers.get('Location', 'nowhere'))}, which is not followed"
    text = _one_line(said.message)
    if not text:
        return f"the server answered with HTTP status {status}"
    return f"the server answered with HTTP status {status}: {text}" if text.startswith("<") else text


def _one_line(text: str) -> str:
    """The text without line breaks, cut to what fits into a condition or a log line."""
    return printable(" ".join(text.split()), _TEXT_MAX)


def _retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Seconds from a Retry-After header; dates, which Kubernetes does not send, count as not said."""
    text = headers.get("Retry-After", "").strip()
    return float(text) if text.isascii() and text.isdigit() and len(text) < len("1000000") else None
