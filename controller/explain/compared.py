"""What `/shadow` answers: how the decisions of another controller compare with ours."""

from typing import Final

import msgspec

from controller.judgement import Field, Kind

PATH: Final = "/shadow"


class Differences(msgspec.Struct, frozen=True):
    """Decisions that differ, by class."""

    input: int = 0
    logic: int = 0


class Compared(msgspec.Struct, frozen=True):
    """How often the decisions about an HPA were compared, and what came of it."""

    comparisons: int
    differences: Differences
    hpa: str = ""

    @property
    def agreeing(self) -> int:
        """Those that do not differ."""
        return self.comparisons - self.differences.input - self.differences.logic


class Difference(msgspec.Struct, frozen=True):
    """One decision of the other, the `writer`, that ours would not have made; `theirs` and `ours` are in words."""

    hpa: str
    writer: str
    time: str
    because: str
    kind: Kind = msgspec.field(name="class")
    fields: tuple[Field, ...] = ()
    theirs: str = ""
    ours: str = ""


class Comparison(msgspec.Struct, frozen=True, rename="camel"):
    """The page: counts in all and per HPA, HPAs left to others and to whom, the last differences, oldest first."""

    comparisons: int
    differences: Differences
    hpas: tuple[Compared, ...]
    left_to_others: dict[str, str]
    latest: tuple[Difference, ...]
