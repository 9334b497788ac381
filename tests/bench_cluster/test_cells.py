import pytest

from tests.bench_cluster.cells import CHOSEN, cell_of, fitting, left_out
from tests.bench_cluster.contenders import Contender
from tests.bench_cluster.populations import Metrics, Population, Shape, Source, parse


@pytest.mark.parametrize("text", ["1000-small-mixed", "10000-one-cpu-10pods", "20-hundred-slow-1pods"])
def test_a_population_is_what_its_notation_says(text: str) -> None:
    assert str(parse(text)) == text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("many-small-cpu", "write it as HPAS-SHAPE-METRICS"),
        ("10-wide-cpu", "shape 'wide' is none of small, hundred, one"),
        ("10-one-disk", "metrics 'disk' is none of cpu, mixed, slow"),
        ("10-one-cpu-11pods", "11 pods each"),
        ("0-one-cpu", "0 HPAs"),
        ("10-one-cpu:theirs", "'theirs' is none of defaults, tuned, ours, null, asyncio, unfrozen, eager"),
        ("10-one-slow:ours,null", "null would wait"),
        ("10-one-cpu:null", "ours has to come before it"),
    ],
)
def test_what_cannot_be_measured_is_refused_with_a_reason(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        cell_of(text)


@pytest.mark.parametrize(("shape", "sizes"), [("small", {1, 2, 3}), ("hundred", {100}), ("one", {600})])
def test_namespaces_have_the_size_of_their_shape(shape: str, sizes: set[int]) -> None:
    found: dict[str, int] = {}
    for one in parse(f"600-{shape}-cpu").applications():
        found[one.namespace] = found.get(one.namespace, 0) + 1
    assert set(found.values()) == sizes


def test_names_are_unique_and_equally_long() -> None:
    applications = [*parse("2000-small-slow").applications()]
    assert len({one.name for one in applications}) == len(applications) == 3130
    assert len({len(one.key) for one in applications}) == 1


def test_goals_do_not_hang_on_hpas_whose_metrics_are_slow_on_purpose() -> None:
    population = Population(50, Shape.ONE, Metrics.SLOW)
    assert {one.source for one in population.measured} == {Source.CPU}
    assert len(population.measured) == 50


def test_a_mixed_population_has_every_kind_of_metric() -> None:
    assert len({one.source for one in parse("10-one-mixed").applications()}) == 5


def test_cells_that_do_not_fit_are_dropped_and_smaller_ones_after_them_are_not() -> None:
    large, small = cell_of("10000-one-cpu:defaults"), cell_of("10-one-cpu:ours")
    assert fitting([large, small], 15.0, 600.0) == ([small], [large])


def test_the_chosen_cells_are_named_no_more_among_those_left_out() -> None:
    missing = left_out(CHOSEN)
    assert "1000-hundred-cpu:defaults,tuned,ours" not in missing
    assert "3000-small-cpu:defaults" in missing
    assert all(Contender.NULL not in text for text in missing)
