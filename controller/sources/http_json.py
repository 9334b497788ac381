"""Metrics of anything that answers JSON over HTTP: a URL with placeholders, and a JSONPath to the numbers."""

import asyncio
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, Final
from urllib.parse import quote, urlsplit

import jsonpath
import msgspec
from yarl import URL

from controller.decide import selectors
from controller.decide.instants import NANOSECONDS, parse_rfc3339
from controller.decide.observed import ExternalReading, ObjectReading, ReadFailure
from controller.decide.quantity import QuantityError, milli
from controller.flag_values import is_host
from controller.kube.errors import TRANSPORT_ERRORS, unreachable, untraced
from controller.kube.kubeconfig_files import ConfigurationError
from controller.kube.sessions import CertificatesError
from controller.ports import ExternalQuestion, ObjectQuestion, Question
from controller.sources.answering import Answer, Unknown
from controller.sources.secret_files import SecretError, read_secret
from controller.sources.sessions import sessions_to
from controller.sources.shared import SharedReads

TIMEOUT_S: Final = 10.0
BODY_BYTES_MAX: Final = 1024 * 1024
CONCURRENT_MAX: Final = 20
VALUES_MAX: Final = 10_000
_ON_LOOP_BYTES_MAX: Final = 32 * 1024
"""What is searched without a thread: some three milliseconds' worth."""

_OPTIONS: Final = {"url", "value", "timestamp", "token-file", "ca-file"}
_TIME_MAX_S: Final = 10**10
_NEEDED: Final = ("url", "value")
_PLACEHOLDERS: Final = {"namespace", "metric", "selector", "kind", "name"}
_PLACEHOLDER: Final = re.compile(r"\{([^{}]*)\}")
_DIGITS_MAX: Final = 40
_NOT_FOUND: Final = 404
_OK: Final = 200
_JSON: Final = msgspec.json.Decoder(float_hook=Decimal)
_OPTION_FLAG: Final = "--metrics-source-option: http-json"
_JSON_TYPES: Final = {dict: "an object", list: "an array", bool: "a boolean", type(None): "null", str: "a string"}


class _Failed(Exception):
    """There is no answer; the message says why."""


class _Nothing(Exception):
    """The server says that there is no such thing."""


class HttpJsonMetrics:
    """A MetricsSource for external metrics and metrics of objects. Close it when done."""

    def __init__(self, options: Mapping[str, str], time_s: Callable[[], float], fresh_s: float) -> None:
        """`fresh_s`: how long an answer is shared.

        Raises:
            ConfigurationError: the options cannot be used.
        """
        if unknown := set(options) - _OPTIONS:
            known = ", ".join(sorted(_OPTIONS))
            raise ConfigurationError(f"{_OPTION_FLAG}.{min(unknown)} is not known; known are {known}")
        for name in _NEEDED:
            if not options.get(name):
                raise ConfigurationError(f"{_OPTION_FLAG}.{name}=… is needed")
        self._url = _checked_url(options["url"])
        self._path = _compiled("value", options["value"])
        self._times = _compiled("timestamp", options["timestamp"]) if options.get("timestamp") else None
        self._token_file = options.get("token-file", "")
        self._places = asyncio.Semaphore(CONCURRENT_MAX)
        self._sessions = sessions_to(self._host, tls=self._url.startswith("https:"), ca_file=options.get("ca-file", ""))
        self._answers: SharedReads[str, ExternalReading | ReadFailure] = SharedReads(self._answer, time_s, fresh_s)

    async def read(self, question: Question) -> Answer:
        """See MetricsSource. All numbers found count for an external metric; for an object there has to be one."""
        if not isinstance(question, ExternalQuestion | ObjectQuestion):
            return Unknown("http-json has only external metrics and metrics of objects")
        try:
            found = await self._answers.get(self._url_of(question))
        except _Nothing as error:
            return Unknown(str(error))
        except (_Failed, selectors.SelectorError) as error:
            return ReadFailure(str(error))
        if isinstance(found, ReadFailure) or isinstance(question, ExternalQuestion):
            return found
        if len(found.values_milli) != 1:
            return ReadFailure(f"the JSONPath finds {len(found.values_milli)} values where one is needed")
        return ObjectReading(found.values_milli[0], found.timestamp_ns)

    async def close(self) -> None:
        """See MetricsSource."""
        await self._sessions.close()

    def _url_of(self, question: ExternalQuestion | ObjectQuestion) -> str:
        metric = question.metric
        selector = "" if metric.selector is None else selectors.from_object(metric.selector).text
        if selector and "{selector}" not in self._url:
            # Leaving it out would answer another question.
            raise _Failed("the metric has a selector, and the URL of http-json has no {selector}")
        values = {"namespace": question.namespace, "metric": metric.name, "selector": selector, "kind": "", "name": ""}
        if isinstance(question, ObjectQuestion):
            values |= {"kind": question.described.kind, "name": question.described.name}
        return _PLACEHOLDER.sub(lambda matched: quote(values[matched[1]], safe=""), self._url)

    async def _answer(self, url: str) -> ExternalReading | ReadFailure:
        """What a document says, good or bad: it is asked for once for all. Raises _Failed or _Nothing without one."""
        body = await self._body(url)
        if len(body) > _ON_LOOP_BYTES_MAX:
            return await asyncio.to_thread(self._extracted, body)
        return self._extracted(body)

    def _extracted(self, body: bytes) -> ExternalReading | ReadFailure:
        try:
            document = _JSON.decode(body)
        except (msgspec.MsgspecError, ValueError, ArithmeticError, RecursionError) as error:
            return ReadFailure(f"the answer of {self._host} is no JSON: {error}")
        try:
            values_milli = tuple(_milli(found) for found in _found(self._path, document))
            times_ns = () if self._times is None else tuple(_time_ns(found) for found in _found(self._times, document))
        except _Failed as error:
            return ReadFailure(str(error))
        # They are used together. One time may be the document's; of a few nobody knows whose they are.
        dated = len(times_ns) == 1 or len(times_ns) >= len(values_milli)
        return ExternalReading(values_milli, min(times_ns, default=None) if dated else None)

    async def _body(self, url: str) -> bytes:
        """Raises _Failed or _Nothing."""
        asked, headers = URL(url, encoded=True), {"Accept": "application/json"}
        try:
            if self._token_file:
                headers["Authorization"] = f"Bearer {read_secret(self._token_file, 'http-json')}"
            async with (
                asyncio.timeout(TIMEOUT_S),
                self._places,
                await self._sessions.current() as http,
                http.get(asked, headers=headers, allow_redirects=False) as answer,
            ):
                if answer.status == _NOT_FOUND:
                    raise _Nothing(f"{self._host} answered with HTTP status 404")
                if answer.status != _OK:
                    raise _Failed(f"{self._host} answered with HTTP status {answer.status}")
                body = await answer.content.read(BODY_BYTES_MAX + 1)
                while len(body) <= BODY_BYTES_MAX and (more := await answer.content.read(BODY_BYTES_MAX)):
                    body += more
        except TimeoutError as error:
            raise _Failed(f"{self._host} did not answer within {TIMEOUT_S:g} s") from untraced(error)
        except SecretError as error:
            raise _Failed(str(error)) from error
        except CertificatesError as error:
            raise _Failed(f"{self._host}: {error}") from error
        except TRANSPORT_ERRORS as error:
            raise _Failed(f"{self._host}: {unreachable(error)}") from untraced(error)
        if len(body) > BODY_BYTES_MAX:
            raise _Failed(f"the answer of {self._host} is larger than {BODY_BYTES_MAX} bytes")
        return body

    @property
    def _host(self) -> str:
        return f"http-json at {urlsplit(self._url).netloc}"


def _compiled(option: str, text: str) -> jsonpath.JSONPath | jsonpath.CompoundJSONPath:
    try:
        return jsonpath.compile(text)
    except jsonpath.JSONPathError as error:
        raise ConfigurationError(f"{_OPTION_FLAG}.{option}: {text!r} is no JSONPath: {_reason(error)}") from error


def _reason(error: jsonpath.JSONPathError) -> str:
    """In one line: below it the library draws the path with an arrow, for terminals."""
    reason = str(error).partition("\n")[0]
    if error.token is None or error.token.index < 0:  # the end of the path
        return reason
    return f"{reason} (at character {error.token.index + 1})"


def _found(path: jsonpath.JSONPath | jsonpath.CompoundJSONPath, document: Any) -> list[Any]:
    try:
        found = path.findall(document)
    except jsonpath.JSONPathError as error:
        raise _Failed(f"the JSONPath cannot be applied: {_reason(error)}") from error
    if len(found) > VALUES_MAX:
        raise _Failed(f"the JSONPath finds {len(found)} values, more than {VALUES_MAX}")
    return list(found)


def _time_ns(value: Any) -> int:
    """When a value was measured: Unix seconds, or RFC 3339. Raises _Failed."""
    if isinstance(value, int | Decimal) and not isinstance(value, bool) and -_TIME_MAX_S < value < _TIME_MAX_S:
        return int(value * NANOSECONDS)
    if isinstance(value, str):
        try:
            return parse_rfc3339(value)
        except ValueError as error:
            raise _Failed(f"the JSONPath of timestamps finds what is no time: {error}") from error
    raise _Failed(f"the JSONPath of timestamps finds {_kind_of(value)} that is no time in Unix seconds")


def _kind_of(value: Any) -> str:
    return _JSON_TYPES.get(type(value), "a number")


def _checked_url(url: str) -> str:
    for matched in _PLACEHOLDER.finditer(url):
        if matched[1] not in _PLACEHOLDERS:
            known = ", ".join(f"{{{name}}}" for name in sorted(_PLACEHOLDERS))
            raise ConfigurationError(f"{_OPTION_FLAG}.url: {matched[0]} is not known; known are {known}")
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        raise ConfigurationError(f"{_OPTION_FLAG}.url: {error}") from error
    if parts.scheme not in ("http", "https") or not parts.hostname or "{" in parts.netloc:
        # An HPA's author must not choose which host is asked.
        raise ConfigurationError(f"{_OPTION_FLAG}.url: an address with a fixed host is needed, such as http://host/…")
    if not is_host(parts.hostname):
        raise ConfigurationError(f"{_OPTION_FLAG}.url: {parts.hostname!r} cannot be the name of a host")
    if parts.username or parts.password:
        raise ConfigurationError(f"{_OPTION_FLAG}.url: no user or password may stand there; use http-json.token-file")
    return url


def _milli(value: Any) -> int:
    """Milli-units of a number or of a quantity as text, rounded away from zero (§18.6). Raises _Failed."""
    if isinstance(value, bool) or not isinstance(value, int | Decimal | str):
        raise _Failed(f"the JSONPath finds {_kind_of(value)} where a number is needed")
    if isinstance(value, Decimal):
        if not value.is_finite() or value.adjusted() > _DIGITS_MAX:
            raise _Failed(f"a number of {value.adjusted() + 1} digits is out of bounds")
        # A rate that has decayed for days may be 3E-314: almost nothing is a number, too.
        value = f"{value:f}" if value.adjusted() >= -_DIGITS_MAX else str(value)
    try:
        return milli(str(value))
    except (QuantityError, ValueError) as error:
        raise _Failed(f"the JSONPath finds what is no number: {str(error)[:200]}") from error
