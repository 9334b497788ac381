"""Log lines are written whatever is in them, tell nothing that is secret, and disturb nobody when they cannot be."""

import errno
import io
import json
import logging
import re
import secrets
from collections.abc import Iterator

import pytest
import structlog

from controller.telemetry import log


@pytest.fixture(autouse=True)
def logging_as_before() -> Iterator[None]:
    before, root = structlog.get_config(), logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    structlog.configure(**before)
    root.handlers[:] = handlers
    root.setLevel(level)


def fail(token: str) -> None:
    assert token
    raise RuntimeError("the sync failed")


@pytest.mark.parametrize("log_format", log.FORMATS)
def test_a_traceback_shows_no_values(log_format: str) -> None:
    stream = io.StringIO()
    log.configure("info", log_format, stream)
    secret = secrets.token_hex()
    try:
        fail(secret)
    except RuntimeError:
        structlog.get_logger().exception("sync failed unexpectedly", hpa="shop/web")
    line = stream.getvalue()
    assert "the sync failed" in line
    assert "test_log.py" in line
    assert secret not in line
    if log_format == "json":
        assert json.loads(line)["hpa"] == "shop/web"


@pytest.mark.parametrize("log_format", log.FORMATS)
def test_half_a_surrogate_pair_is_no_reason_not_to_write_a_line(log_format: str) -> None:
    stream = io.StringIO()
    log.configure("info", log_format, stream)
    structlog.get_logger().warning("metric cannot be read", error="no file caf\udce9.txt", count=3)
    assert r"caf\udce9.txt" in stream.getvalue()
    if log_format == "json":
        line = json.loads(stream.getvalue())
        assert (line["message"], line["error"], line["count"]) == ("metric cannot be read", "no file caf\udce9.txt", 3)


class FullDisk(io.StringIO):
    full = True

    def write(self, text: str) -> int:
        if self.full:
            raise OSError(errno.ENOSPC, "No space left on device")
        return super().write(text)

    def flush(self) -> None:
        if self.full:
            raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("log_format", log.FORMATS)
def test_a_stream_that_takes_no_lines_fails_nothing_else(log_format: str) -> None:
    stream = FullDisk()
    log.configure("info", log_format, stream)
    structlog.get_logger().warning("lost")
    logging.getLogger("of a library").warning("lost, too")
    stream.full = False
    structlog.get_logger().warning("there is room again")
    assert "there is room again" in stream.getvalue()
    assert "lost" not in stream.getvalue()


def test_what_libraries_do_all_day_is_not_told_of_even_where_everything_is() -> None:
    """A line for each request of theirs would hide ours, and may show what is secret."""
    stream = io.StringIO()
    log.configure("debug", "console", stream)
    library = logging.getLogger("of a library")
    for tell in (library.debug, library.info, structlog.get_logger().debug, library.warning):
        tell("told")
    assert [line.split()[1] for line in stream.getvalue().splitlines()] == ["[debug", "[warning"]


def test_where_only_errors_are_told_libraries_tell_no_more() -> None:
    stream = io.StringIO()
    log.configure("error", "console", stream)
    library = logging.getLogger("of a library")
    for tell in (library.warning, structlog.get_logger().warning, library.error, structlog.get_logger().error):
        tell("told")
    assert [line.split()[1] for line in stream.getvalue().splitlines()] == ["[error", "[error"]


@pytest.mark.parametrize("log_format", log.FORMATS)
def test_a_line_does_not_wait_for_the_next_ones(log_format: str) -> None:
    written = io.BytesIO()
    stream = io.TextIOWrapper(written)
    log.configure("info", log_format, stream)
    structlog.get_logger().info("leading")
    assert b"leading" in written.getvalue()


def test_lines_for_machines_begin_with_time_level_and_message() -> None:
    stream = io.StringIO()
    log.configure("info", "json", stream)
    structlog.get_logger().info("leading", identity="a", term=1)
    logging.getLogger("of a library").warning("slow")
    ours, theirs = (list(json.loads(line)) for line in stream.getvalue().splitlines())
    assert ours == ["time", "level", "message", "identity", "term"]
    assert theirs[:3] == ["time", "level", "message"]


def test_lines_for_people_begin_with_the_time() -> None:
    stream = io.StringIO()
    log.configure("info", "console", stream)
    structlog.get_logger().info("leading", identity="a", term=1)
    assert re.match(r"20\d\d-\d\d-\d\dT\S+Z \[info     \] leading +identity=a term=1$", stream.getvalue())
