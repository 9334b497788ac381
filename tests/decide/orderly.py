"""Orderly worlds for Hypothesis: specs that the API server stores, and metrics that ask for a drawn replica count."""

from typing import Final

from hypothesis import strategies as st

from controller.decide.history import History
from controller.decide.observed import Observation, Reading
from controller.decide.spec import Behavior, Policy, Rules
from tests.builders import (
    behavior,
    condition,
    event,
    external_metric,
    history,
    hpa,
    observation,
    rules,
    scale,
    series,
    settings,
    status,
)
from tests.decide.strategies import World

REPLICAS_MOST: Final = 40
_AGES_S: Final = st.integers(1, 900)

_POLICIES: Final = st.builds(
    Policy,
    type=st.sampled_from(("Pods", "Percent")),
    value=st.sampled_from((1, 2, 4, 10, 50, 100, 300)),
    period_s=st.sampled_from((15, 60, 300, 900)),
)


def _rules(windows_s: st.SearchStrategy[int | None]) -> st.SearchStrategy[Rules]:
    return st.builds(
        lambda policies, window_s, select: rules(*policies, window_s=window_s, select=select),
        st.lists(_POLICIES, min_size=1, max_size=3),
        windows_s,
        st.sampled_from(("Max", "Min", "Disabled")),
    )


BEHAVIORS: Final[st.SearchStrategy[Behavior]] = st.builds(
    lambda up, down: behavior(up=up, down=down),
    _rules(st.sampled_from((0, 30, 300))),
    _rules(st.sampled_from((None, 0, 30, 300))),
)

_EVENTS: Final = st.lists(
    st.builds(
        lambda change, age_s, outdated: event(change, -age_s, outdated=outdated),
        st.integers(1, 20),
        _AGES_S,
        st.booleans(),
    ),
    max_size=3,
)

HISTORIES: Final[st.SearchStrategy[History]] = st.builds(
    lambda past, ups, downs: history(*((replicas, -age_s) for replicas, age_s in past), ups=ups, downs=downs),
    st.lists(st.tuples(st.integers(0, REPLICAS_MOST), _AGES_S), max_size=4),
    _EVENTS,
    _EVENTS,
)


def asking(wanted: tuple[int | None, ...], replicas: int, *, zeroed: bool = True) -> Observation:
    """What a sync sees whose External metrics m0, m1, … ask for so many replicas; None is one that fails."""
    readings: list[Reading] = [series() if count is None else series(count * 1000) for count in wanted]
    stored = status(condition("ScaledToZero", "True" if zeroed else "False"))
    return observation(scale(replicas), *readings, status=stored)


@st.composite
def orderly_worlds(
    draw: st.DrawFn,
    behaviors: st.SearchStrategy[Behavior | None] = st.none() | BEHAVIORS,  # noqa: B008 - strategies are values
    failures: bool = True,  # noqa: FBT001, FBT002 - by keyword, but Hypothesis' signature hides that
) -> World:
    """An autoscaler within its bounds or not, at any size, with any past; its metrics ask for any size."""
    replicas_min = draw(st.none() | st.integers(0, 6))
    replicas_max = max(replicas_min or 1, 1) + draw(st.integers(0, REPLICAS_MOST))
    counts: st.SearchStrategy[int | None] = st.integers(0, 2 * REPLICAS_MOST)
    wanted = tuple(draw(st.lists(st.none() | counts if failures else counts, min_size=1, max_size=3)))
    autoscaler = hpa(
        *(external_metric(average_milli=1000, name=f"m{index}") for index, _ in enumerate(wanted)),
        replicas_min=replicas_min,
        replicas_max=replicas_max,
        behavior=draw(behaviors),
        settings=settings(scale_to_zero=draw(st.booleans()), downscale_stabilization_s=draw(st.sampled_from((0, 300)))),
    )
    seen = asking(wanted, draw(st.integers(0, replicas_max + 2)), zeroed=draw(st.booleans()))
    return World(autoscaler, seen, draw(HISTORIES))
