"""Log lines: JSON for machines, aligned text for people; a constant message with variables as keys (§24)."""

import json
import logging
import sys
from contextlib import suppress
from typing import Any, Final, TextIO, cast

import msgspec
import structlog

LEVELS: Final = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}
FORMATS: Final = ("json", "console")


def configure(level: str, log_format: str, stream: TextIO | None = None) -> None:
    """Have all loggers write lines of at least this level to the stream (standard error).

    `level` is one of LEVELS, `log_format` one of FORMATS. Warnings of libraries that use the standard library's logging
    come out in the same form.

    A line that the stream does not take, because a disk is full or its reader has gone, is lost; nobody who logs
    hears of it.
    """
    stream = stream or sys.stderr
    lenient = cast("TextIO", _Lenient(stream))
    shared: list[structlog.typing.Processor] = [
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True, key="time"),
        structlog.processors.StackInfoRenderer(),
    ]
    if log_format == "json":
        last: list[structlog.typing.Processor] = [
            # Without the values of variables: a token may be among them.
            structlog.processors.ExceptionRenderer(structlog.tracebacks.ExceptionDictTransformer(show_locals=False)),
            structlog.processors.EventRenamer("message"),
            structlog.processors.JSONRenderer(serializer=_json),
        ]
    else:
        last = [
            structlog.dev.ConsoleRenderer(
                colors=stream.isatty(),
                timestamp_key="time",
                pad_event_to=36,
                exception_formatter=structlog.dev.plain_traceback,
            )
        ]
    structlog.configure(
        processors=[*shared, *last],
        wrapper_class=structlog.make_filtering_bound_logger(LEVELS[level]),
        logger_factory=structlog.WriteLoggerFactory(file=lenient),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(lenient)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *last],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(max(LEVELS[level], logging.WARNING))


class _Lenient:
    """What loggers need of a stream, without its errors: a sync must not fail because of a line about it."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> None:
        with suppress(OSError):
            self._stream.write(text)

    def flush(self) -> None:
        with suppress(OSError):
            self._stream.flush()


def _json(event: dict[str, Any], **_: Any) -> str:
    # People read these lines, too: what happened stands first and at the same place.
    first = {key: event[key] for key in ("time", "level", "message") if key in event}
    try:
        return msgspec.json.encode(first | event, enc_hook=repr).decode()
    except UnicodeEncodeError:  # half a surrogate pair, as file names may have: the line must be written all the same
        return json.dumps(first | event, default=repr)
