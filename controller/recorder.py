"""Syncs on their way into recordings: handed over by the loop, encoded and written by a thread (`--record`)."""

import secrets
import threading
import time
from collections import Counter, deque
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

import structlog

from controller.decide.instants import NANOSECONDS, Now
from controller.decide.spec import Settings
from controller.os_errors import why
from controller.ports import Sync
from controller.recording import format_v2
from controller.recording.flags import RecordSettings
from controller.recording.segments import Segments
from controller.version import PROGRAM, __version__

PENDING_MAX: Final = 5_000
"""How many syncs may wait for the disk, at most: what they hold is memory."""

BATCH_MAX: Final = 250
BATCH_S: Final = 1.0
COMPLAIN_S: Final = 60.0
STOP_S: Final = 5.0
WRITER: Final = f"{PROGRAM} {__version__}"

_log = structlog.get_logger(__name__)


class NotRecordableError(Exception):
    """The folder cannot take recordings; the message names it and says why."""


class Source:
    """What the lines of one recording have in common: the controller's settings, and when it began."""

    def __init__(self, settings: Settings, period_s: float, began: Now) -> None:
        self._settings = settings
        self._period_s = period_s
        self._began = began
        self.run = secrets.token_hex(4)

    def since(self, began: Now) -> "Source":
        """The same controller, of which is told from that moment on."""
        later = Source(self._settings, self._period_s, began)
        later.run = self.run
        return later

    @property
    def stem(self) -> str:
        """The beginning of a file's name: when the run began, in UTC, and which one it was."""
        at = datetime.fromtimestamp(self._began.wall_ns / NANOSECONDS, UTC)
        return f"hpa-{at:%Y%m%dT%H%M%SZ}-{self.run}"

    def header(self, part: int = 1, hpa: str = "") -> bytes:
        """The first line of a file."""
        return format_v2.header(
            program=WRITER,
            began=self._began,
            settings=self._settings,
            sync_period_ns=round(self._period_s * NANOSECONDS),
            run=self.run,
            part=part,
            hpa=hpa,
        )

    def line(self, sync: Sync) -> bytes:
        """A sync's line.

        Raises:
            ValueError: a text in it is not Unicode.
        """
        return format_v2.tick(
            key=sync.autoscaler.key,
            spec=sync.autoscaler.spec,
            observation=sync.observation,
            history=sync.history,
            now=sync.now,
            write=sync.write,
            conclusion=sync.conclusion,
            concluded=sync.concluded,
            began=self._began,
            withheld="" if sync.withheld is None else sync.withheld.reason,
            taken_up=sync.taken_up,
        )


class Recorder:
    """An observer of the reconciler that writes every sync down; it takes none of the loop's time but for a handover.

    Attributes:
        dropped: syncs that were not written, by reason: `disk`, `behind` (the disk is slow), `encoding` (no Unicode).
        written: syncs that were.
    """

    def __init__(
        self, settings: RecordSettings, source: Source, *, time_s: Callable[[], float] = time.monotonic
    ) -> None:
        """`time_s`: of the machine, whatever the loop's time is: it spaces out complaints."""
        self._folder = settings.folder
        self._source = source
        self._segments = Segments(settings.folder, source.stem, header=source.header, bytes_max=settings.bytes_max)
        self._time_s = time_s
        self._pending: deque[Sync] = deque()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._work, name="recorder", daemon=True)
        self._complained_s: dict[str, float] = {}
        self.dropped: Counter[str] = Counter(disk=0, behind=0, encoding=0)
        self.written = 0

    @property
    def bytes_written(self) -> int:
        """Compressed, since the start."""
        return self._segments.bytes_written

    def start(self) -> None:
        """Begin the first file, and write from now on.

        Raises:
            NotRecordableError: the folder cannot be written to.
        """
        try:
            self._segments.open()
        except OSError as error:
            reason = "not a folder" if isinstance(error, FileExistsError) else why(error)
            raise NotRecordableError(f"--record: cannot write to {self._folder}: {reason}") from error
        _log.info("recording", file=str(self._segments.path))
        self._thread.start()

    def __call__(self, sync: Sync) -> None:
        """See ports.SyncObserver."""
        if len(self._pending) >= PENDING_MAX:
            self._drop("behind", 1, "the disk is too slow")
            return
        self._pending.append(sync)

    def stop(self) -> None:
        """Write what is waiting and end the file; returns after five seconds at most, with a disk that hangs."""
        if not self._thread.is_alive():
            return
        self._stopping.set()
        self._thread.join(STOP_S)
        if self._thread.is_alive():
            _log.warning("the end of the recording may be missing: the disk does not answer", folder=str(self._folder))

    def _work(self) -> None:
        while not self._stopping.wait(BATCH_S):
            self._write_pending()
        self._write_pending()
        try:
            self._segments.close()
        except OSError as error:
            self._drop("disk", 0, why(error))

    def _write_pending(self) -> None:
        while self._pending:
            batch: list[bytes] = []
            while self._pending and len(batch) < BATCH_MAX:
                sync = self._pending.popleft()
                try:
                    batch.append(self._source.line(sync))
                except Exception as error:  # noqa: BLE001 - one sync must not end the recording of all others
                    self._drop("encoding", 1, f"{sync.autoscaler.key}: {error}")
                # The loop waits for the interpreter's lock: let it have it after every line.
                time.sleep(0)
            try:
                self._segments.append(batch)
                self.written += len(batch)
            except OSError as error:
                self._drop("disk", len(batch), why(error))

    def _drop(self, reason: str, count: int, error: str) -> None:
        """Count what is lost, and say so once in a while."""
        self.dropped[reason] += count
        now_s = self._time_s()
        if now_s - self._complained_s.get(reason, -COMPLAIN_S) >= COMPLAIN_S:
            self._complained_s[reason] = now_s
            _log.warning(
                "syncs are not recorded", folder=str(self._folder), error=error.lower(), dropped=self.dropped[reason]
            )
