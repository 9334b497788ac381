import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.kube.framing import LINE_BYTES_MAX, Lines, LineTooLong

LINES = st.lists(st.binary(min_size=1, max_size=40).filter(lambda line: b"\n" not in line and bool(line.strip())))


@given(LINES, st.lists(st.integers(min_value=1, max_value=50)), st.binary(max_size=20).filter(lambda x: b"\n" not in x))
def test_lines_come_out_whole_however_they_are_cut(lines: list[bytes], sizes: list[int], rest: bytes) -> None:
    stream = b"".join(line + b"\n" for line in lines) + rest
    framing, got, start = Lines(), list[bytes](), 0
    for size in sizes:
        got += framing.feed(stream[start : start + size])
        start += size
    got += framing.feed(stream[start:])
    assert got == lines
    assert framing.rest == rest


def test_every_byte_position_is_a_place_to_cut() -> None:
    stream = b'{"a":1}\n\n\r\n{"b":2}\n'
    for cut in range(len(stream) + 1):
        framing = Lines()
        assert [*framing.feed(stream[:cut]), *framing.feed(stream[cut:])] == [b'{"a":1}', b'{"b":2}'], cut


def test_a_line_may_be_far_longer_than_what_the_library_reads_at_once() -> None:
    line = b"x" * (9 * 1024 * 1024)
    framing = Lines()
    got = [found for at in range(0, len(line), 65536) for found in framing.feed(line[at : at + 65536])]
    assert got == []
    assert list(framing.feed(b"\n")) == [line]


def test_a_line_without_an_end_is_given_up() -> None:
    framing, part = Lines(), b"x" * (LINE_BYTES_MAX // 4)
    for _ in range(4):
        assert list(framing.feed(part)) == []
    with pytest.raises(LineTooLong, match="longer than 67108864 bytes"):
        list(framing.feed(b"x"))
