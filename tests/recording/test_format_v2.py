"""Version 2: whatever a sync was decided on comes back as it was, and decides the same again."""

import math
import sys
from typing import Final

import msgspec
import pytest
from hypothesis import assume, given
from msgspec.structs import replace

from controller.decide import spec
from controller.decide.decision import conclude, decide
from controller.decide.instants import Now
from controller.decide.observed import Container, Observation, Pod, PodRequests, ReadFailure, Scale
from controller.decide.result import Write, Written
from controller.decide.spec import Autoscaler
from controller.recording import format_v2
from controller.recording.format_v2 import Header, Tick
from controller.recording.live import decided_again
from tests.builders import (
    behavior,
    cpu,
    external_metric,
    history,
    hpa,
    now,
    object_metric,
    observation,
    pods,
    pods_metric,
    requests,
    samples,
    scale,
    series,
    settings,
    usage,
)
from tests.decide.strategies import WRITES, World, profile, wild_worlds
from tests.recording import lived
from tests.recording.lived import BEGAN, CPU, WRITE_NS

_HEADER: Final = msgspec.json.Decoder(Header)
_TICK: Final = msgspec.json.Decoder(Tick)
LATER: Final = Now(now().wall_ns + WRITE_NS, now().monotonic_ns + WRITE_NS)


def line_of(world: World, write: Write) -> tuple[bytes, Write | None]:
    """A world's sync as a line, and what became of its scale write."""
    seen, asked = world.observation, world.autoscaler
    decision = decide(asked, seen, world.history, now())
    came = write if decision.rescales else None
    conclusion = conclude(asked, seen.status, decision, came, LATER)
    return format_v2.tick(
        key=asked.key,
        spec=asked.spec,
        observation=seen,
        history=world.history,
        now=now(),
        write=came,
        conclusion=conclusion,
        concluded=LATER,
        began=BEGAN,
    ), came


def finite(asked: Autoscaler) -> bool:
    """No tolerance that a quantity cannot be: JSON knows neither NaN nor infinity."""
    limits = asked.spec.behavior
    ratios = [] if limits is None else [limits.scale_up.tolerance, limits.scale_down.tolerance]
    return all(math.isfinite(ratio) for ratio in (*ratios, asked.settings.tolerance) if ratio is not None)


def deciding(seen: Observation) -> Observation:
    """What decisions look at: neither labels of pods that are known to match, nor who the target is."""
    target = seen.scale
    slim = Scale(target.replicas, target.status_replicas, target.selector) if isinstance(target, Scale) else target
    return replace(seen, scale=slim, pods=tuple(replace(pod, labels={}) for pod in seen.pods))


@profile(400)
@given(world=wild_worlds(), write=WRITES)
def test_whatever_was_seen_comes_back_and_decides_the_same(world: World, write: Write) -> None:
    assume(finite(world.autoscaler))
    line, came = line_of(world, write)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    tick = _TICK.decode(line)
    assert (tick.spec, tick.history, tick.write) == (world.autoscaler.spec, world.history, came)
    assert (tick.now, tick.concluded) == (now(), LATER)
    assert tick.observation() == deciding(world.observation)
    outcome, decision = decided_again(tick, world.autoscaler.settings)
    assert decision == decide(world.autoscaler, world.observation, world.history, now())
    assert outcome == tick.outcome


def test_samples_that_were_too_old_are_as_missing_when_it_is_decided_again() -> None:
    old = {"web-2": "its sample is 5m0s old, and --max-sample-age is 2m0s"}
    readings = (
        replace(usage(900, 900), origin="prometheus", undated=("web-0",), left_out=old),
        replace(samples(20_000, 20_000), origin="annotation", undated=("web-1",), left_out=old),
        replace(series(3000), origin="annotation"),
        ReadFailure("the value is 5m0s old, and --max-sample-age is 2m0s", origin="prometheus"),
    )
    metrics = (cpu(60), pods_metric(10_000), external_metric(average_milli=1000), object_metric(value_milli=1000))
    asked, seen = hpa(*metrics), observation(scale(3), *readings)
    line, _ = line_of(World(asked, seen, history()), Written())
    tick = _TICK.decode(line)
    assert tick.readings == readings
    outcome, decision = decided_again(tick, asked.settings)
    assert decision == decide(asked, seen, history(), now())
    assert outcome == tick.outcome


LARGEST: Final = sys.float_info.max


@pytest.mark.parametrize(
    ("up", "down", "recorded"),
    [
        (math.inf, 0.1, (LARGEST, 0.1)),
        (0.1, math.inf, (0.1, LARGEST)),
        (math.inf, None, (LARGEST, None)),
        (-math.inf, math.inf, (-LARGEST, LARGEST)),
    ],
)
def test_a_tolerance_without_end_is_the_largest_number(
    up: float, down: float | None, recorded: tuple[float, float | None]
) -> None:
    both = behavior(
        up=replace(spec.DEFAULT_RULES_UP, tolerance=up), down=replace(spec.DEFAULT_RULES_DOWN, tolerance=down)
    )
    line, _ = line_of(World(hpa(cpu(50), behavior=both), observation(scale(2), usage(1, 1)), history()), Written())
    found = _TICK.decode(line).spec.behavior
    assert found is not None
    assert (found.scale_up.tolerance, found.scale_down.tolerance) == recorded


@pytest.mark.parametrize(("tolerance", "recorded"), [(0.2, 0.2), (math.inf, LARGEST)])
def test_a_header_has_the_tolerance_as_it_is_or_the_largest_number(tolerance: float, recorded: float) -> None:
    asked = hpa(settings=settings(tolerance=tolerance, downscale_stabilization_s=7))
    found = _HEADER.decode(lived.header(asked))
    assert found.settings == replace(asked.settings, tolerance=recorded)


def test_a_clock_without_a_date_is_recorded_all_the_same() -> None:
    """Texts are for people; what counts are the nanoseconds."""
    far = Now(10**21, 5)
    line = format_v2.header(
        program="test", began=far, settings=settings(), sync_period_ns=1, run="c0ffee00", hpa="shop/web"
    )
    found = _HEADER.decode(line)
    assert (found.start, found.began, found.hpa) == ("", far, "shop/web")


def test_pods_of_a_template_share_their_requests_however_large() -> None:
    """More than 16 GiB are more nano-units than 64 bits hold."""
    huge = PodRequests((Container("app", {"memory": 64 * 2**30 * 10**9}),))
    small = requests()
    seen = observation(
        scale(3), usage(500, 500, 500), pods=(*pods(2, requests=huge), *pods(1, first=2, requests=small))
    )
    line, _ = line_of(World(CPU, seen, history()), Written())
    tick = _TICK.decode(line)
    assert tick.templates == (huge, small)
    assert [pod.template for pod in tick.pods] == [0, 0, 1]


def test_nothing_of_labels_or_of_the_targets_identity_is_recorded() -> None:
    target = Scale(2, 2, "app=web", uid="uid-planted", version="version-planted")
    planted: tuple[Pod, ...] = pods(2, labels={"app": "web", "note": "label-planted"})
    line, _ = line_of(World(CPU, observation(target, usage(500, 500), pods=planted), history()), Written())
    assert b"planted" not in line
