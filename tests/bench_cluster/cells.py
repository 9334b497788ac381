"""Which populations are measured under which contenders, and how long that takes."""

from collections.abc import Sequence

import msgspec

from tests.bench_cluster.contenders import Contender
from tests.bench_cluster.populations import Metrics, Population, Shape, parse
from tests.bench_cluster.trials import Schedule

# Scales, metrics and statuses each have a client with a limit of its own, and a sync needs one request of each.
_BUILT_IN_SYNCS_PER_S = 20.0
# What starting, filling, stopping and putting back takes besides, from runs on two cores.
_PLANE_S = 15.0
_PER_OBJECT_S = 0.0006
_PER_CONTENDER_S = 10.0
# Of the whole matrix; 5,000 is there to say better than by 3,000 and 10,000 what a machine can carry.
_COUNTS = (1_000, 3_000, 10_000)


class Cell(msgspec.Struct, frozen=True):
    """One population and those that are measured on it, in this order."""

    population: Population
    contenders: tuple[Contender, ...]

    def __str__(self) -> str:
        return f"{self.population}:{','.join(self.contenders)}"

    def seconds(self, period_s: float) -> float:
        """About how long it takes, at the most."""
        objects = self.population.count * (self.population.pods_each + 2)
        trials = sum(schedule(one, self.population.count, period_s).most_s for one in self.contenders)
        filled_s = max(period_s, objects * _PER_OBJECT_S)
        return _PLANE_S + filled_s + trials + _PER_CONTENDER_S * len(self.contenders)


def schedule(contender: Contender, hpas: int, period_s: float) -> Schedule:
    """How long the parts of a trial take; the built-in controller with its defaults may need periods for a pass."""
    match contender:
        case Contender.DEFAULTS:
            pass_s = max(period_s, hpas / _BUILT_IN_SYNCS_PER_S)
            return Schedule(
                warm_passes=1,
                warm_max_s=period_s + 1.3 * pass_s,
                window_s=max(4 * period_s, 1.1 * pass_s),
                worst_within_s=pass_s,
                raised_max_s=2.3 * pass_s + period_s,
            )
        case Contender.NULL:
            return Schedule(2, 4 * period_s, 4 * period_s)
        case _:
            return Schedule(
                2,
                5 * period_s,
                4 * period_s,
                worst_within_s=period_s,
                raised_max_s=4 * period_s,
                # When all have scaled at once, what was put off for that comes two periods later, in overload three.
                settle_max_s=4 * period_s,
                rest_s=1.5 * period_s,
            )


def cell_of(text: str) -> Cell:
    """The cell of a notation: a population, and contenders if not the usual ones, as in ``1000-small-cpu:tuned,ours``.

    Raises ValueError.
    """
    notation, _, names = text.partition(":")
    population = parse(notation)
    if not names:
        return Cell(population, _usual(population))
    unknown = [name for name in names.split(",") if name not in list(Contender)]
    if unknown:
        raise ValueError(f"cell {text!r}: {unknown[0]!r} is none of {', '.join(Contender)}")
    contenders = tuple(Contender(name) for name in names.split(","))
    if Contender.NULL in contenders and Contender.OURS not in contenders[: contenders.index(Contender.NULL)]:
        raise ValueError(f"cell {text!r}: null sends what ours has sent, so ours has to come before it")
    if Contender.NULL in contenders and population.metrics is Metrics.SLOW:
        raise ValueError(
            f"cell {text!r}: null would wait for answers that never come, and say nothing about the machine"
        )
    return Cell(population, contenders)


def _usual(population: Population) -> tuple[Contender, ...]:
    if population.metrics is Metrics.SLOW:
        return (Contender.OURS,)
    slow_to_measure = population.count > 1_000
    return (*(() if slow_to_measure else (Contender.DEFAULTS,)), Contender.TUNED, Contender.OURS)


CHOSEN: Sequence[Cell] = tuple(
    cell_of(text)
    for text in (
        "1000-hundred-cpu:defaults,tuned,ours",
        "1000-small-mixed:tuned,ours",
        "3000-small-cpu:tuned,ours",
        "7000-hundred-cpu:ours",
        "10000-hundred-cpu:tuned,ours,null",
        "10000-one-cpu:ours",
        "10000-hundred-cpu-10pods:ours",
        "1000-hundred-slow:ours",
    )
)
"""What is measured when nothing else is asked for: about an hour."""


def left_out(chosen: Sequence[Cell]) -> list[str]:
    """The cells of the whole matrix that are not among the chosen ones, each with its contenders."""
    measured = {(cell.population, one) for cell in chosen for one in cell.contenders}
    missing = []
    for count in _COUNTS:
        for shape in Shape:
            for metrics in (Metrics.CPU, Metrics.MIXED):
                population = Population(count, shape, metrics)
                asked = (Contender.DEFAULTS, Contender.TUNED, Contender.OURS)
                others = [one for one in asked if (population, one) not in measured]
                if others:
                    missing.append(f"{population}:{','.join(others)}")
    return missing


def fitting(cells: Sequence[Cell], period_s: float, limit_s: float) -> tuple[list[Cell], list[Cell]]:
    """The cells that can be done one after another within limit_s, in their order, and those that cannot."""
    taken, dropped, left_s = [], [], limit_s
    for cell in cells:
        needed_s = cell.seconds(period_s)
        if needed_s <= left_s:
            taken.append(cell)
            left_s -= needed_s
        else:
            dropped.append(cell)
    return taken, dropped
