"""Views of what goes on are not disturbed by readers who leave."""

import os

from controller.cli.outlet import Outlet


def test_a_reader_who_leaves_is_told_of_once_and_written_to_no_more() -> None:
    left: list[str] = []
    reading, writing = os.pipe()
    with os.fdopen(writing, "w") as stream:
        outlet = Outlet(stream, lambda: left.append("left"))
        outlet.write("one\n")
        assert os.read(reading, 100) == b"one\n"
        os.close(reading)
        for _ in range(3):
            outlet.write("two\n")
        assert (left, outlet.closed) == (["left"], True)
        # What could not be written is still in the stream's buffer.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
