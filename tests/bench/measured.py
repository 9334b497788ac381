"""A measured figure and what it is held against."""

import msgspec


class Figure(msgspec.Struct, frozen=True):
    """One row of the report.

    `value` is in `unit`. `ratio` compares it with `yardstick`; `goal` is the bound that the ratio (or, without a
    yardstick, the value) must keep, and `at_most` says on which side of it. None: a figure without a goal.
    """

    name: str
    value: float
    unit: str
    yardstick: str = ""
    ratio: float | None = None
    goal: float | None = None
    at_most: bool = True

    @property
    def reached(self) -> bool | None:
        """Whether the goal is reached; None without a goal."""
        if self.goal is None:
            return None
        measured = self.value if self.ratio is None else self.ratio
        return measured <= self.goal if self.at_most else measured >= self.goal
