"""What must be reached, held against a report: ratios between contenders of one cell, and a few bounds. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from tests.bench_cluster.contenders import Contender
from tests.bench_cluster.populations import PODS_EACH, Metrics, Shape, parse
from tests.bench_cluster.results import Report, Result
from tests.bench_cluster.timings import Spread, growth

INTERVAL_PERIODS_MAX = 1.1
READS_SHARE_MAX = {Shape.HUNDRED: 1 / 20, Shape.ONE: 1 / 20, Shape.SMALL: 1 / 10}
DEFAULTS_SHARE_MAX = 1 / 10
WAIT_PERIODS_MIN = 0.99
"""Of HPAs that are synced once a period one in a hundred waits longer than this part of it for its next sync if the
load changes at the worst moment: so many do on the average of all moments, however the syncs are spread."""
GROWTH_MAX = 1.05
MEMORY_MAX_MIB = 250.0
MEMORY_HPAS, MEMORY_PODS = 10_000, 100_000
_SETTLED_PERIODS = 1.8
JUDGED_FROM_HPAS = 1_000
"""With fewer HPAs costs are mostly those of running at all, and few are late in any case."""


class Goal(msgspec.Struct, frozen=True):
    """One thing that must be reached, and what was measured of it."""

    cell: str
    what: str
    measured: float | None
    """None where there was nothing to measure, which is no success."""
    at_most: float
    beyond_reach: bool = False
    """Whether nobody gets there: not even a client that thinks nothing, on this machine, or for want of time."""

    @property
    def verdict(self) -> str:
        """``reached``, ``missed``, or ``beyond reach`` for what nobody could have reached."""
        if self.measured is not None and self.measured <= self.at_most:
            return "reached"
        return "beyond reach" if self.beyond_reach else "missed"


def goals(report: Report) -> list[Goal]:
    """All goals that the cells of a report allow to judge."""
    by_cell: dict[str, dict[str, Result]] = {}
    for result in report.results:
        by_cell.setdefault(result.cell, {})[result.contender] = result
    found: list[Goal] = []
    for cell, results in by_cell.items():
        ours = results.get(Contender.OURS)
        if ours is None:
            continue
        found += _alone(cell, ours, results.get(Contender.NULL))
        if (tuned := results.get(Contender.TUNED)) is not None:
            found += _beside_tuned(cell, ours, tuned)
        defaults = results.get(Contender.DEFAULTS)
        if defaults is not None and ours.hpas >= JUDGED_FROM_HPAS:
            found += _beside_defaults(cell, ours, defaults)
    return [*found, *_across(by_cell)]


def largest_held(results: Iterable[Result]) -> int | None:
    """The largest number of HPAs at which ours kept the interval everywhere; None if at none."""
    kept: dict[int, bool] = {}
    for result in results:
        if result.contender == Contender.OURS:
            kept[result.hpas] = kept.get(result.hpas, True) and interval_periods(result) <= INTERVAL_PERIODS_MAX
    return max((hpas for hpas, held in kept.items() if held), default=None)


def _alone(cell: str, ours: Result, null: Result | None) -> Iterator[Goal]:
    beyond_reach = null is not None and interval_periods(null) > INTERVAL_PERIODS_MAX
    yield Goal(cell, "interval p99, in periods", interval_periods(ours), INTERVAL_PERIODS_MAX, beyond_reach)
    # An HPA that was not synced before counting began writes down the last change, as it should.
    if ours.interval is not None and ours.interval.max_s < _SETTLED_PERIODS * ours.period_s:
        yield Goal(cell, "status writes when nothing changed", ours.status_writes_at_rest, 0)
    yield Goal(cell, "event loop held for more than 50 ms, times", None if ours.loop is None else ours.loop.late, 0)
    if ours.hpas >= MEMORY_HPAS and ours.pods >= MEMORY_PODS:
        yield Goal(cell, "resident memory at most, in MiB", ours.cost.resident_max_mib, MEMORY_MAX_MIB)


def interval_periods(result: Result) -> float:
    """The p99 of the achieved interval in periods; infinite when nothing was synced."""
    return float("inf") if result.interval is None else result.interval.p99_s / result.period_s


def _beside_tuned(cell: str, ours: Result, tuned: Result) -> Iterator[Goal]:
    population = parse(cell)
    # Of other kinds each HPA has a metric of its own, which nobody can read together with others.
    if population.metrics is Metrics.CPU:
        share = _ratio(ours.reads_per_sync, tuned.reads_per_sync)
        yield Goal(cell, "reads per sync, by tuned's", share, READS_SHARE_MAX[population.shape])
    writes = _ratio(ours.status_writes_per_sync, tuned.status_writes_per_sync)
    yield Goal(cell, "status writes per sync, by tuned's", writes, 1.0)
    if ours.hpas < JUDGED_FROM_HPAS:
        return
    for what, measured in (
        ("CPU per sync, by tuned's", _ratio(ours.cpu_s_per_1000_syncs, tuned.cpu_s_per_1000_syncs)),
        ("resident memory, by tuned's", _ratio(ours.cost.resident_max_mib, tuned.cost.resident_max_mib)),
        ("lateness p99, by tuned's", _p99_ratio(ours.lateness, tuned.lateness)),
        ("reaction p99, by tuned's", _p99_ratio(_delay(ours), _delay_at_least(tuned))),
    ):
        yield Goal(cell, what, measured, 1.0)


def _beside_defaults(cell: str, ours: Result, defaults: Result) -> Iterator[Goal]:
    lateness = _p99_ratio(ours.lateness, defaults.lateness)
    yield Goal(cell, "lateness p99, by the built-in defaults'", lateness, DEFAULTS_SHARE_MAX)
    reaction, its = _p99_ratio(_delay(ours), _delay_at_least(defaults)), _delay(defaults)
    beyond_reach = its is not None and DEFAULTS_SHARE_MAX * its.p99_s < WAIT_PERIODS_MIN * ours.period_s
    yield Goal(cell, "reaction p99, by the built-in defaults'", reaction, DEFAULTS_SHARE_MAX, beyond_reach)


def _delay(result: Result) -> Spread | None:
    """The reaction of all HPAs; None if some had not scaled when the time was up."""
    if result.reaction is None or result.reaction.missing:
        return None
    return result.reaction.delay


def _delay_at_least(result: Result) -> Spread | None:
    """The reaction of those that had scaled: the others would only have made it later."""
    return None if result.reaction is None else result.reaction.delay


def _across(by_cell: Mapping[str, Mapping[str, Result]]) -> Iterator[Goal]:
    """How CPU grows with the number of HPAs, and what a single namespace costs."""
    ours = {parse(cell): results[Contender.OURS] for cell, results in by_cell.items() if Contender.OURS in results}
    # HPAs with more pods than the others cost more, however many there are.
    hundreds: Sequence[Result] = sorted(
        (
            result
            for population, result in ours.items()
            if (population.shape, population.metrics, population.pods_each) == (Shape.HUNDRED, Metrics.CPU, PODS_EACH)
        ),
        key=lambda result: result.hpas,
    )
    if len(hundreds) > 1 and hundreds[0].hpas < hundreds[-1].hpas:
        first, last = hundreds[0], hundreds[-1]
        exponent = growth((first.hpas, _cpu_per_pass(first)), (last.hpas, _cpu_per_pass(last)))
        yield Goal(f"{first.cell} to {last.cell}", "CPU grows with the number to the power of", exponent, GROWTH_MAX)
    for population, result in ours.items():
        many = ours.get(msgspec.structs.replace(population, shape=Shape.HUNDRED))
        if population.shape is Shape.ONE and many is not None:
            ratio = _ratio(result.cpu_s_per_1000_syncs, many.cpu_s_per_1000_syncs)
            yield Goal(str(population), "CPU per sync, by that in many namespaces", ratio, 1.0)


def _cpu_per_pass(result: Result) -> float:
    """What a sync of every HPA takes; not what was used in the window, where perhaps not all had their turn."""
    return result.cpu_s_per_1000_syncs * result.hpas


def _p99_ratio(mine: Spread | None, its: Spread | None) -> float | None:
    return None if mine is None or its is None else _ratio(mine.p99_s, its.p99_s)


def _ratio(mine: float, its: float) -> float | None:
    return mine / its if its else None
