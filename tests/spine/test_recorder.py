"""The recorder writes what the reconciler tells, counts what it cannot, and never stands in the way."""

import gzip
import secrets
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from structlog.testing import capture_logs

from controller.decide.observed import ReadFailure
from controller.decide.spec import Settings
from controller.recorder import PENDING_MAX, NotRecordableError, Recorder, Source
from controller.recording.check import check_file
from controller.recording.flags import RecordSettings
from tests.recording.disks import files_no_larger_than
from tests.spine.stage import AT_ONCE, PERIOD_S, syncs_of
from tests.spine.world import LoopClock

pytestmark = pytest.mark.looptime

BOUND = 2**20


def recorder_in(folder: Path, settings: Settings = AT_ONCE) -> Recorder:
    return Recorder(RecordSettings(folder, BOUND), Source(settings, PERIOD_S, LoopClock().now()))


async def test_what_the_reconciler_tells_replays_to_the_same(tmp_path: Path) -> None:
    told = await syncs_of(12)
    assert any(sync.write is not None for sync in told)
    recorder = recorder_in(tmp_path)
    recorder.start()
    for sync in told:
        recorder(sync)
    recorder.stop()
    path = only_file(tmp_path)
    result = check_file(path)
    assert (result.compared, result.differing, result.notes, result.lines) == (12, 0, [], [])
    assert (recorder.written, sum(recorder.dropped.values())) == (12, 0)
    assert read(path).count(b"\n") == 13


async def test_nothing_secret_is_recorded(tmp_path: Path) -> None:
    """Annotations people put passwords into, and kubectl the whole manifest."""
    [sync] = await syncs_of(1)
    secret = secrets.token_hex()
    metadata = msgspec.json.encode({"name": "web", "annotations": {"password": secret}, "labels": {"note": secret}})
    pods = tuple(msgspec.structs.replace(pod, labels={"app": "web", "note": secret}) for pod in sync.observation.pods)
    planted = msgspec.structs.replace(
        sync,
        autoscaler=msgspec.structs.replace(sync.autoscaler, metadata=metadata),
        observation=msgspec.structs.replace(sync.observation, pods=pods),
    )
    recorder = recorder_in(tmp_path)
    recorder.start()
    recorder(planted)
    recorder.stop()
    told = read(only_file(tmp_path))
    assert recorder.written == 1
    assert secret.encode() not in told


async def test_what_cannot_be_written_is_counted_and_said_once(tmp_path: Path) -> None:
    [sync] = await syncs_of(1)
    odd = msgspec.structs.replace(sync.observation, readings=(ReadFailure("half a pair: \ud800"),))
    recorder = recorder_in(tmp_path)
    recorder.start()
    with capture_logs() as logs:
        for one in (odd, sync.observation, odd):
            recorder(msgspec.structs.replace(sync, observation=one))
        recorder.stop()
    assert (recorder.written, recorder.dropped["encoding"]) == (1, 2)
    [complaint] = [line for line in logs if line["event"] == "syncs are not recorded"]
    assert complaint["error"].startswith("shop/web: ")


async def test_a_disk_that_is_away_costs_lines_and_nothing_else(tmp_path: Path) -> None:
    """One line per cause and minute; recording goes on when the folder is back."""
    [sync] = await syncs_of(1)
    folder = tmp_path / "records"
    recorder = recorder_in(folder)
    with files_no_larger_than(0), pytest.raises(NotRecordableError) as raised:
        recorder.start()
    assert str(raised.value) == f"--record: cannot write to {folder}: file too large"
    recorder.start()
    with capture_logs() as logs, files_no_larger_than(100):
        for _ in range(3):
            recorder(sync)
            await_real(lambda: not recorder._pending)
        await_real(lambda: recorder.dropped["disk"] == 3)
    recorder(sync)
    recorder.stop()
    assert [line["error"] for line in logs if line["event"] == "syncs are not recorded"] == ["file too large"]
    assert (recorder.written, recorder.dropped["disk"]) == (1, 3)
    path = only_file(folder)
    assert check_file(path).compared == 1


async def test_all_syncs_of_a_batch_that_is_lost_are_counted(tmp_path: Path) -> None:
    [sync] = await syncs_of(1)
    recorder = recorder_in(tmp_path)
    recorder.start()
    with capture_logs(), files_no_larger_than(100):
        for _ in range(5):
            recorder(sync)
        recorder.stop()
    assert (recorder.written, recorder.dropped["disk"]) == (0, 5)


async def test_what_goes_on_being_lost_is_said_once_a_minute(tmp_path: Path) -> None:
    [sync] = await syncs_of(1)
    at_s = [1000.0]
    source = Source(AT_ONCE, PERIOD_S, LoopClock().now())
    recorder = Recorder(RecordSettings(tmp_path, BOUND), source, time_s=lambda: at_s[0])
    for _ in range(PENDING_MAX):
        recorder(sync)
    with capture_logs() as logs:
        for at_s[0] in (1000.0, 1059.9, 1060.0, 1119.9):
            recorder(sync)
    assert [line["dropped"] for line in logs] == [1, 3]


async def test_each_reason_for_which_syncs_are_not_recorded_is_said(tmp_path: Path) -> None:
    """A complaint about one must not silence that about another for a minute."""
    [sync] = await syncs_of(1)
    odd = msgspec.structs.replace(sync.observation, readings=(ReadFailure("half a pair: \ud800"),))
    recorder = recorder_in(tmp_path)
    recorder.start()
    with capture_logs() as logs, files_no_larger_than(100):
        recorder(msgspec.structs.replace(sync, observation=odd))
        recorder(sync)
        recorder.stop()
    assert (recorder.dropped["encoding"], recorder.dropped["disk"]) == (1, 1)
    complaints = [line["error"] for line in logs if line["event"] == "syncs are not recorded"]
    assert [complaint.partition(": ")[0] for complaint in complaints] == ["shop/web", "file too large"]


async def test_a_folder_that_is_gone_comes_back(tmp_path: Path) -> None:
    [sync] = await syncs_of(1)
    folder = tmp_path / "records"
    recorder = recorder_in(folder)
    recorder.start()
    shutil.rmtree(folder)
    recorder(sync)
    recorder.stop()
    assert recorder.written + recorder.dropped["disk"] == 1


async def test_more_than_the_disk_can_take_is_dropped(tmp_path: Path) -> None:
    """Nothing is written before the start: that is a disk that takes nothing."""
    [sync] = await syncs_of(1)
    recorder = recorder_in(tmp_path)
    with capture_logs() as logs:
        for _ in range(PENDING_MAX + 7):
            recorder(sync)
    assert recorder.dropped["behind"] == 7
    assert [line["event"] for line in logs] == ["syncs are not recorded"]


@pytest.mark.parametrize(
    ("place", "reason"),
    [("file", "not a folder"), ("file/below", "not a directory"), ("absent/below", "no such file or directory")],
)
async def test_a_folder_that_cannot_be_is_said(tmp_path: Path, place: str, reason: str) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(NotRecordableError) as raised:
        recorder_in(tmp_path / place).start()
    assert str(raised.value) == f"--record: cannot write to {tmp_path / place}: {reason}"


def read(path: Path) -> bytes:
    return gzip.decompress(path.read_bytes())


def only_file(folder: Path) -> Path:
    [path] = folder.iterdir()
    return path


def await_real(reached: Callable[[], bool]) -> None:
    """Wait for a thread, which does not live in the loop's time."""
    for _ in range(1000):
        if reached():
            return
        time.sleep(0.01)
    raise AssertionError("the recorder's thread does not get on")
