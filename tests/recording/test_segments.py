"""Files of recordings: rotated, bounded, readable at any moment, and whole after a disk that was full."""

import gzip
import os
from pathlib import Path
from random import Random

import pytest

from controller.recording.segments import FILE_BYTES_MAX, Segments
from tests.recording.disks import files_no_larger_than

STEM = "hpa-20260131T120000Z-c0ffee00"
MIB = 1024 * 1024


def segments(folder: Path, *, bytes_max: int = MIB, stem: str = STEM) -> Segments:
    return Segments(folder, stem, header=lambda part: b"header %d\n" % part, bytes_max=bytes_max)


def lines_of(path: Path) -> list[bytes]:
    """What can be read of a file, also of one that has no end yet."""
    found: list[bytes] = []
    try:
        with gzip.open(path) as file:
            found.extend(file)
    except EOFError:
        pass
    return found


def noise(random: Random, size: int = 4000) -> bytes:
    """A line that cannot be compressed to much less than half."""
    return random.randbytes(size // 2).hex().encode() + b"\n"


def size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir())


def test_nobody_else_can_read_them(tmp_path: Path) -> None:
    written = segments(tmp_path / "new")
    written.append([b"one\n"])
    assert written.path is not None
    assert [path.stat().st_mode & 0o777 for path in (written.path, written.path.parent)] == [0o600, 0o700]
    written.close()


def test_what_was_appended_can_be_read_at_once_and_after_a_crash(tmp_path: Path) -> None:
    written = segments(tmp_path / "new")
    written.append([b"one\n", b"two\n"])
    assert written.path is not None
    assert lines_of(written.path) == [b"header 1\n", b"one\n", b"two\n"]
    written.append([b"three\n"])
    assert lines_of(written.path)[-1] == b"three\n"
    with pytest.raises(EOFError):
        gzip.decompress(written.path.read_bytes())
    written.close()


def test_a_file_that_is_closed_has_an_end(tmp_path: Path) -> None:
    written = segments(tmp_path)
    written.append([b"one\n"])
    written.close()
    written.close()
    [path] = tmp_path.iterdir()
    assert path.name == f"{STEM}-000001.jsonl.gz"
    assert gzip.decompress(path.read_bytes()) == b"header 1\none\n"
    assert written.bytes_written <= path.stat().st_size < written.bytes_written + 40


def test_the_bound_holds_and_the_oldest_go_first(tmp_path: Path) -> None:
    random = Random(1)  # noqa: S311 - repeatable on purpose
    written = segments(tmp_path)
    for number in range(300):
        written.append([b"%d " % number + noise(random, 8000), noise(random, 8000)])
        assert size_of(tmp_path) <= MIB
    written.close()
    paths = sorted(tmp_path.iterdir())
    assert paths[0].name > f"{STEM}-000001.jsonl.gz"
    numbers = [int(path.name.removeprefix(f"{STEM}-").partition(".")[0]) for path in paths]
    assert numbers == list(range(numbers[0], numbers[-1] + 1))
    assert size_of(tmp_path) > MIB * 3 // 4, "no more is deleted than must be"
    kept = [int(line.split()[0]) for path in paths for line in lines_of(path) if b" " in line and b"header" not in line]
    assert kept == list(range(kept[0], 300)), "the latest, without a gap"
    assert all(lines_of(path)[0].startswith(b"header") for path in paths)


def test_the_bound_holds_for_earlier_runs_but_not_for_files_of_others(tmp_path: Path) -> None:
    other, precious = tmp_path / "hpa-20250101T000000Z-deadbeef-000007.jsonl.gz", tmp_path / "precious.jsonl.gz"
    for path in (other, precious):
        path.write_bytes(b"x" * MIB)
        os.utime(path, (1, 1))
    written = segments(tmp_path)
    written.append([b"one\n"])
    written.close()
    assert not other.exists()
    assert precious.exists()


def test_a_full_disk_leaves_nothing_half_written(tmp_path: Path) -> None:
    random = Random(2)  # noqa: S311 - repeatable on purpose
    written = segments(tmp_path, bytes_max=64 * MIB)
    first, lost, last = [noise(random)], [noise(random, 60_000)], [noise(random)]
    written.append(first)
    with files_no_larger_than(8_000), pytest.raises(OSError, match="File too large"):
        written.append(lost)
    written.append(last)
    written.close()
    [path] = tmp_path.iterdir()
    assert gzip.decompress(path.read_bytes()) == b"header 1\n" + first[0] + last[0]


def test_a_full_disk_at_the_beginning_of_a_file_leaves_no_file(tmp_path: Path) -> None:
    written = segments(tmp_path)
    with files_no_larger_than(4), pytest.raises(OSError, match="File too large"):
        written.append([b"one\n"])
    assert list(tmp_path.iterdir()) == []
    written.append([b"two\n"])
    assert written.path is not None
    assert lines_of(written.path) == [b"header 1\n", b"two\n"]
    written.close()


@pytest.mark.parametrize("place", ["file", "file/below", "absent/below"])
def test_a_folder_that_cannot_be(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match=r"File exists|Not a directory|No such file"):
        segments(tmp_path / place).open()


def test_a_file_that_somebody_deletes_is_followed_by_the_next_one(tmp_path: Path) -> None:
    """Else all that is decided from then on would go into a file that nobody can read."""
    written = segments(tmp_path)
    written.append([b"one\n"])
    [path] = tmp_path.iterdir()
    path.unlink()
    written.append([b"two\n"])
    written.append([b"three\n"])
    written.close()
    [path] = tmp_path.iterdir()
    assert path.name == f"{STEM}-000002.jsonl.gz"
    assert lines_of(path) == [b"header 2\n", b"two\n", b"three\n"]


def test_what_is_being_written_makes_no_room_however_old_it_seems(tmp_path: Path) -> None:
    """After a clock was set back, files of earlier runs are newer."""
    random = Random(1)  # noqa: S311 - repeatable on purpose
    earlier = tmp_path / "hpa-20270101T000000Z-deadbeef-000007.jsonl.gz"
    earlier.write_bytes(b"x" * (MIB * 3 // 4))
    os.utime(earlier, (2**32, 2**32))
    written = segments(tmp_path)
    line = noise(random, MIB)
    written.append([line])
    written.close()
    [path] = tmp_path.iterdir()
    assert lines_of(path) == [b"header 1\n", line]


def test_a_batch_that_is_larger_than_a_file_makes_room(tmp_path: Path) -> None:
    random = Random(1)  # noqa: S311 - repeatable on purpose
    written = segments(tmp_path)
    for _ in range(6):
        written.append([noise(random, MIB)])
        assert size_of(tmp_path) <= MIB
    with pytest.raises(OSError, match="larger than all recordings together may be"):
        written.append([noise(random, 4 * MIB)])
    written.append([b"and on\n"])
    written.close()
    assert [line for path in sorted(tmp_path.iterdir()) for line in lines_of(path)][-1] == b"and on\n"
    assert size_of(tmp_path) <= MIB


def test_no_file_is_larger_than_an_eighth_of_the_bound(tmp_path: Path) -> None:
    random = Random(1)  # noqa: S311 - repeatable on purpose
    written = segments(tmp_path)
    while len(list(tmp_path.iterdir())) < 3:
        written.append([noise(random, 16)])
    written.close()
    sizes = [path.stat().st_size for path in sorted(tmp_path.iterdir())]
    assert max(sizes) <= MIB // 8
    assert min(sizes[:2]) > MIB // 8 - 128, "and those that are full are hardly smaller"


@pytest.mark.parametrize(("more", "files"), [(0, 2), (1, 1)])
def test_a_large_bound_makes_no_larger_files(tmp_path: Path, more: int, files: int) -> None:
    """Room is made for one file of 64 MiB, not for an eighth of 1 GiB."""
    earlier = tmp_path / "hpa-20250101T000000Z-deadbeef-000007.jsonl.gz"
    with earlier.open("wb") as file:
        file.truncate(1024 * MIB - FILE_BYTES_MAX + more)
    written = segments(tmp_path, bytes_max=1024 * MIB)
    written.append([b"one\n"])
    written.close()
    assert len(list(tmp_path.iterdir())) == files


def test_a_file_that_is_there_already_is_not_written_over(tmp_path: Path) -> None:
    path = tmp_path / f"{STEM}-000001.jsonl.gz"
    path.write_bytes(b"precious")
    with pytest.raises(FileExistsError):
        segments(tmp_path).append([b"one\n"])
    assert path.read_bytes() == b"precious"


def test_a_link_of_such_a_name_counts_as_what_it_is(tmp_path: Path) -> None:
    folder, large = tmp_path / "recordings", tmp_path / "large"
    folder.mkdir()
    with large.open("wb") as file:
        file.truncate(2 * MIB)
    link, broken = (folder / f"hpa-20250101T000000Z-deadbeef-00000{part}.jsonl.gz" for part in (1, 2))
    link.symlink_to(large)
    broken.symlink_to(tmp_path / "nowhere")
    written = segments(folder)
    written.append([b"one\n"])
    written.close()
    assert (link.is_symlink(), broken.is_symlink(), large.stat().st_size) == (True, True, 2 * MIB)
