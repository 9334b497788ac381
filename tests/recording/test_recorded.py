"""The recordings of the real controller agree with what is decided here, and would notice other rules."""

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from controller.decide.history import History
from controller.recording import variants
from controller.recording.check import check_file
from controller.recording.format_v1 import Pod, Ready, Recording, ResourceAnswer, Tick
from controller.recording.replay import Replay, settings_of
from tests.recording.recorded import AlteredHistory, AlteredTicks, caught_by, paths


def test_every_tick_is_decided_as_recorded() -> None:
    """docs/recording-format.md says what is equal."""
    lines = []
    compared = 0
    for path in paths():
        result = check_file(path)
        compared += result.compared
        if result.differing:
            lines += [f"{path}: {result.differing} of {result.compared} ticks differ", *result.lines]
    assert not lines, "\n".join(lines)
    # A recording whose outcomes were lost would agree with anything.
    assert compared > 10 * len(paths()) > 0


# --- other settings ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "setting",
    [
        "tolerance=0.2",
        "tolerance=0.09",
        "downscaleStabilization=0s",
        "downscaleStabilization=285s",
        "cpuInitializationPeriod=0s",
        "cpuInitializationPeriod=285s",
        "initialReadinessDelay=0s",
        "initialReadinessDelay=29s",
        "HPAScaleToZero=true",
        "HPAScaleToZero=false",
        "HPAConfigurableTolerance=false",
        "PodLevelResources=false",
    ],
)
def test_another_setting_is_noticed(setting: str) -> None:
    def begin(recording: Recording) -> Replay:
        header = recording.header
        return Replay(header, variants.varied(settings_of(header.settings), [setting]))

    assert caught_by(begin) is not None


# --- other rules ---------------------------------------------------------------------------------


def every_pod(change: Callable[[Pod], Pod]) -> Callable[[Tick], Tick]:
    def alter(tick: Tick) -> Tick:
        return replace(tick, pods={name: pod and change(pod) for name, pod in (tick.pods or {}).items()})

    return alter


def spec_without(field: str) -> Callable[[Recording], Replay]:
    def begin(recording: Recording) -> Replay:
        spec = {name: value for name, value in recording.header.hpa["spec"].items() if name != field}
        return Replay(recording.header, spec=spec)

    return begin


def windowless(tick: Tick) -> Tick:
    answer = tick.metrics.resource
    if answer is None or answer.pods is None:
        return tick
    shortened = {name: replace(item, window=0) for name, item in answer.pods.items()}
    return replace(tick, metrics=replace(tick.metrics, resource=ResourceAnswer(pods=shortened)))


def without_conflicts(tick: Tick) -> Tick:
    return replace(tick, scale=replace(tick.scale, update_errors=None))


def first_conflict_is_final(tick: Tick) -> Tick:
    errors = ["forbidden" for _ in tick.scale.update_errors or ()]
    return replace(tick, scale=replace(tick.scale, update_errors=errors))


def first_series_only(tick: Tick) -> Tick:
    answers = {
        name: replace(answer, values=answer.values and answer.values[:1])
        for name, answer in (tick.metrics.external or {}).items()
    }
    return replace(tick, metrics=replace(tick.metrics, external=answers))


def with_phase(old: str, new: str) -> Callable[[Tick], Tick]:
    return every_pod(lambda pod: replace(pod, phase=new) if pod.phase == old else pod)


def unknown_is_false(pod: Pod) -> Pod:
    ready = pod.ready
    return pod if ready is None or ready.status != "Unknown" else replace(pod, ready=Ready("False", ready.since))


OTHER_RULES: dict[str, Callable[[Tick], Tick]] = {
    "§5: the selector is not looked at": every_pod(lambda pod: replace(pod, labels=None)),
    "§6.3: S is taken for R": lambda tick: replace(tick, scale=replace(tick.scale, spec=tick.scale.status)),
    "§6.3: R is taken for S": lambda tick: replace(tick, scale=replace(tick.scale, status=tick.scale.spec)),
    "§7.3: only the first series counts": first_series_only,
    "§8.1: pods being deleted count": every_pod(lambda pod: replace(pod, deleted=None)),
    "§8.1: failed pods count": with_phase("Failed", "Running"),
    "§8.1: pending pods count": with_phase("Pending", "Running"),
    "§8.1: succeeded pods are ignored": with_phase("Succeeded", "Failed"),
    "§8.2: every pod is ready": every_pod(lambda pod: replace(pod, ready=Ready("True", -100_000))),
    "§8.2: Unknown is like False": every_pod(unknown_is_false),
    "§8.2: a sample has no window": windowless,
    "§9.2: pod-level requests do not count": every_pod(lambda pod: replace(pod, pod_requests=None)),
    "§9.3: init containers do not count": every_pod(lambda pod: replace(pod, init_containers=None)),
    "§9.3: only the first container counts": every_pod(lambda pod: replace(pod, containers=(pod.containers or [])[:1])),
    "§13.1: a conflict is final": first_conflict_is_final,
    "§13.2: writes never fail": without_conflicts,
}


@pytest.mark.parametrize("rule", OTHER_RULES)
def test_another_rule_is_noticed(rule: str) -> None:
    assert caught_by(lambda recording: AlteredTicks(recording.header, OTHER_RULES[rule])) is not None


def moved(past: History, by_ns: int) -> History:
    entries = past.recommendations
    return replace(past, recommendations=entries and tuple(replace(one, at_ns=one.at_ns + by_ns) for one in entries))


OTHER_HISTORIES: dict[str, Callable[[History], History]] = {
    "§2.5: nothing is remembered": lambda _: History(),
    "§4.5: no first recommendation": lambda past: past if past.recommendations else History(()),
    "§10.1: an entry at the edge of the window is outside": lambda past: moved(past, -1),
    "§11.2: an entry at the edge of a window is inside": lambda past: moved(past, 1),
    "§10.1: only the last recommendation counts": lambda past: replace(
        past, recommendations=past.recommendations and past.recommendations[-1:]
    ),
    "§11.6: rescales up are not remembered": lambda past: replace(past, scale_ups=()),
    "§11.6: rescales down are not remembered": lambda past: replace(past, scale_downs=()),
    "§11.5: only the last rescale counts": lambda past: replace(
        past, scale_ups=past.scale_ups[-1:], scale_downs=past.scale_downs[-1:]
    ),
}


@pytest.mark.parametrize("rule", OTHER_HISTORIES)
def test_another_memory_is_noticed(rule: str) -> None:
    assert caught_by(lambda recording: AlteredHistory(recording.header, OTHER_HISTORIES[rule])) is not None


def test_ticks_that_are_not_altered_agree() -> None:
    """So that what is noticed above is the alteration."""
    assert caught_by(lambda recording: AlteredTicks(recording.header, lambda tick: tick), every=5) is None
    assert caught_by(lambda recording: AlteredHistory(recording.header, lambda past: past), every=5) is None


@pytest.mark.parametrize("field", ["behavior", "minReplicas", "metrics"])
def test_another_spec_is_noticed(field: str) -> None:
    assert caught_by(spec_without(field)) is not None


def test_defaults_are_not_the_same_as_no_behavior() -> None:
    """§21.2: window edges, overshoot and rate windows differ."""

    def begin(recording: Recording) -> Replay:
        return Replay(recording.header, spec={"behavior": {}} | recording.header.hpa["spec"])

    assert caught_by(begin) is not None
