import errno
import inspect

import aiohttp
import msgspec
import pytest
from aiohttp import http_exceptions

from controller.kube.errors import TRANSPORT_ERRORS, error_of, error_of_event, reason_of, unreachable, untraced
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


def status_body(code: int, reason: str, message: str) -> bytes:
    fields = {"kind": "Status", "apiVersion": "v1", "code": code, "reason": reason, "message": message}
    return msgspec.json.encode({**fields, "status": "Failure"})


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (301, Rejected),
        (400, Rejected),
        (401, Refused),
        (403, Refused),
        (404, NotFound),
        (405, Rejected),
        (409, Conflict),
        (410, Expired),
        (413, Rejected),
        (422, Rejected),
        (429, Throttled),
        (500, ServerFailure),
        (502, ServerFailure),
        (503, ServerFailure),
        (504, ServerFailure),
    ],
)
def test_every_status_has_its_error(status: int, kind: type[ApiError]) -> None:
    error = error_of(status, {}, status_body(status, "Because", "said"))
    assert type(error) is kind
    assert error.status == status


@pytest.mark.parametrize(
    ("details", "kind"),
    [
        (
            {"causes": [{"reason": "Other"}, {"reason": "NamespaceTerminating", "field": "metadata.namespace"}]},
            Terminating,
        ),
        ({"causes": [{"reason": "Other"}, {}]}, Refused),
        ({"causes": None}, Refused),
        ({}, Refused),
        (None, Refused),
    ],
)
def test_what_a_namespace_that_is_being_deleted_does_not_take_is_no_missing_permission(
    details: object, kind: type[ApiError]
) -> None:
    error = error_of(403, {}, msgspec.json.encode({"message": "said", "reason": "Forbidden", "details": details}))
    assert (type(error), str(error), error.reason) == (kind, "said", "Forbidden")


@pytest.mark.parametrize(
    ("header", "expected"), [("3", 3.0), ("0", 0.0), ("-1", None), ("Wed, 21 Oct 2015 07:28:00 GMT", None), ("", None)]
)
def test_how_long_to_wait_is_read_as_seconds(header: str, expected: float | None) -> None:
    for status in (429, 503):
        error = error_of(status, {"Retry-After": header}, b"")
        assert isinstance(error, Throttled | ServerFailure)
        assert error.retry_after_s == expected


@pytest.mark.parametrize(
    ("status", "headers", "body", "text"),
    [
        (404, {}, status_body(404, "NotFound", "pods is\nunknown"), "pods is unknown"),
        (
            502,
            {},
            b"<html>\n<h1>Bad Gateway</h1>",
            "the server answered with HTTP status 502: <html> <h1>Bad Gateway</h1>",
        ),
        (503, {}, b"no endpoints", "no endpoints"),
        (500, {}, b"", "the server answered with HTTP status 500"),
        (302, {"Location": "http://x/"}, b"moved", "a redirection to http://x/, which is not followed"),
    ],
)
def test_what_the_server_said_becomes_one_line(status: int, headers: dict[str, str], body: bytes, text: str) -> None:
    assert str(error_of(status, headers, body)) == text


def test_a_long_answer_is_cut() -> None:
    assert len(str(error_of(400, {}, b"x" * 50_000))) < 1100


@pytest.mark.parametrize(
    ("code", "reason", "kind"),
    [(410, "Expired", Expired), (410, "Gone", Expired), (0, "Expired", Expired), (500, "InternalError", ServerFailure)],
)
def test_errors_inside_watches_are_mapped_too(code: int, reason: str, kind: type[ApiError]) -> None:
    assert type(error_of_event(status_body(code, reason, "said"))) is kind


def test_no_exception_of_the_library_is_forgotten() -> None:
    """Those of WebSockets and of reading streams by hand are not raised by what we use."""
    unused = {"WSMessageTypeError", "WebSocketError", "EofStream"}
    for module in (aiohttp, http_exceptions):
        for name, found in inspect.getmembers(module, inspect.isclass):
            if not issubclass(found, Exception) or issubclass(found, Warning) or name in unused:
                continue
            assert issubclass(found, TRANSPORT_ERRORS), f"{module.__name__}.{name}"


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (TimeoutError(), "no answer in time (TimeoutError)"),
        (aiohttp.ServerDisconnectedError(), "the connection was closed before the answer was complete"),
        (aiohttp.ClientPayloadError("short\nof bytes"), "the answer was cut off or damaged: short of bytes"),
        (ConnectionResetError(), "ConnectionResetError"),
    ],
)
def test_failed_connections_are_told_in_a_sentence(error: Exception, text: str) -> None:
    found = unreachable(error)
    assert isinstance(found, Unreachable)
    assert str(found) == text


def test_what_is_no_text_is_escaped() -> None:
    assert str(error_of(302, {"Location": "http://x/caf\udce9\x1b[2J"}, b"")) == (
        r"a redirection to http://x/caf\udce9\x1b[2J, which is not followed"
    )


def test_what_a_timeout_hides_keeps_no_traceback_either() -> None:
    """That of Python 3.11.2 raises its error in place of the cancellation, without naming it as the cause."""
    hidden, timeout, error = led = [traced(each) for each in (ConnectionError(), TimeoutError(), Unreachable("late"))]
    timeout.__context__, error.__cause__ = hidden, timeout
    assert all(each.__traceback__ for each in led)
    assert untraced(error) is error
    assert [each.__traceback__ for each in led] == [None] * 3


def test_errors_that_lead_to_each_other_lose_their_tracebacks_too() -> None:
    """One that is kept is raised again while what it has led to is dealt with."""
    kept, led = Unreachable("kept"), Unreachable("led")
    led.__cause__, kept.__cause__ = kept, led
    assert untraced(led) is led


def test_what_an_error_has_come_upon_keeps_its_traceback() -> None:
    """It is not its own: it may be what the caller is dealing with."""
    error, met = Unreachable("late"), traced(KeyError())
    error.__context__ = met
    untraced(error)
    assert met.__traceback__ is not None


def traced(error: Exception) -> Exception:
    """The error, as it is once it has been raised."""
    with pytest.raises(type(error)):
        raise error
    return error


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (TimeoutError(), "no answer in time"),
        (ConnectionRefusedError(errno.ECONNREFUSED, "x"), "connection refused"),
        (EOFError(), "EOFError"),
        (ValueError("odd"), "odd"),
    ],
)
def test_there_is_always_a_reason(error: BaseException, said: str) -> None:
    assert reason_of(error) == said
