"""What a command line came to."""

import pytest

from controller.cli.main import main


class Said:
    """How a command line ended and what it wrote."""

    def __init__(self, capsys: pytest.CaptureFixture[str], *arguments: object) -> None:
        try:
            self.code = main(list(map(str, arguments)))
        except SystemExit as error:
            self.code = int(str(error.code))
        self.output, self.errors = capsys.readouterr()
        self.lines = self.output.splitlines()
