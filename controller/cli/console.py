"""What writes styled text to standard output."""

import sys
from typing import NoReturn

import rich.console


class Console(rich.console.Console):
    """Standard output, on a terminal in colour; lines are never broken, however long."""

    def __init__(self, columns: int) -> None:
        """`columns`: of the terminal."""
        super().__init__(file=sys.stdout, width=max(columns, 1000), highlight=False, soft_wrap=True)

    def on_broken_pipe(self) -> NoReturn:
        """Whoever read has had enough; rich would end the process with 1, which says no."""
        raise BrokenPipeError
