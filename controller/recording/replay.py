"""Recordings through the decision code, in virtual time."""

from typing import Any, Final

from controller.decide import selectors
from controller.decide.decision import conclude, decide
from controller.decide.gates import gates_of
from controller.decide.history import History
from controller.decide.instants import NANOSECONDS, Now, format_rfc3339, parse_rfc3339
from controller.decide.observed import Observation, Scale, ScaleFailure
from controller.decide.result import Conclusion, Decision, Write, WriteFailed, Written
from controller.decide.spec import Autoscaler, Settings
from controller.recording import format_v1 as form
from controller.recording.observations import PodsSeen, readings
from controller.wire.autoscalers import spec_from, status_from
from controller.wire.errors import WireError, located
from controller.wire.status import status_to

WRITE_ATTEMPTS: Final = 5
"""How often a scale write is tried when it conflicts (§13.1)."""


class Replay:
    """One recording's controller: feed it ticks in order."""

    def __init__(self, header: form.Header, settings: Settings | None = None, spec: object = None) -> None:
        """Start where the recording starts.

        `settings` and `spec` (JSON of an autoscaling/v2 spec) replace the recorded ones: what would have been decided?

        Raises:
            WireError: the header's HPA or start is malformed.
        """
        metadata = located("hpa.metadata", _metadata, header.hpa.get("metadata"))
        self._spec_replaced = spec is not None
        self._autoscaler = Autoscaler(
            str(metadata.get("namespace") or "default"),
            str(metadata.get("name") or header.name),
            spec_from(spec) if spec is not None else located("hpa.spec", spec_from, header.hpa.get("spec")),
            settings or settings_of(header.settings),
        )
        self._start_ns = located("start", parse_rfc3339, header.start)
        self._status = located("hpa.status", status_from, header.hpa.get("status"))
        self._history = History()
        self._pods = PodsSeen(self._start_ns)

    def step(self, tick: form.Tick) -> tuple[form.Outcome, Decision]:
        """What is decided at a tick, and all of its reasons.

        Raises:
            WireError: a quantity, the time or the spec of the tick is malformed.
        """
        if tick.hpa_spec is not None and not self._spec_replaced:
            self._autoscaler = Autoscaler(
                self._autoscaler.namespace,
                self._autoscaler.name,
                located("hpaSpec", spec_from, tick.hpa_spec),
                self._autoscaler.settings,
            )
        self._pods.update(tick.pods or {})
        instant_ns = self._start_ns + tick.t * NANOSECONDS
        # A status holds times of this sync, so they have to be printable.
        located("t", format_rfc3339, instant_ns)
        now = Now(instant_ns, instant_ns)
        observation = self._observe(tick)
        decision = decide(self._autoscaler, observation, self._history, now)
        write = _write(tick.scale.update_errors or []) if decision.rescales else None
        conclusion = conclude(self._autoscaler, self._status, decision, write, now)
        self._history, self._status = conclusion.history, conclusion.status
        return self._outcome(conclusion), decision

    def _observe(self, tick: form.Tick) -> Observation:
        if tick.scale.error is not None:
            return Observation(ScaleFailure(tick.scale.error), self._status)
        scale = Scale(tick.scale.spec, tick.scale.status, tick.scale.selector)
        try:
            pods = self._pods.matching(selectors.parse(scale.selector))
        except selectors.SelectorError:
            pods = ()
        answers = readings(self._autoscaler.metrics, tick.metrics, self._start_ns)
        return Observation(scale, self._status, pods, answers, (self._autoscaler.key,) if pods else ())

    def _outcome(self, conclusion: Conclusion) -> form.Outcome:
        events = (*conclusion.events, *conclusion.events_after_status)
        status = status_to(self._status)
        for condition in status.get("conditions", ()):
            condition.pop("message", None)
        return form.Outcome(
            scaled_to=conclusion.scaled_to,
            status=status,
            status_writes=int(conclusion.status_changed),
            events=[(event.type, event.reason) for event in events],
        )


def _metadata(value: Any) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise WireError(f"Expected `object`, got {value!r:.60}")
    return value


def settings_of(recorded: form.Settings) -> Settings:
    """The controller's settings as a recording states them; unknown gates are passed over."""
    return Settings(
        tolerance=recorded.tolerance,
        downscale_stabilization_ns=recorded.downscale_stabilization * NANOSECONDS,
        cpu_initialization_period_ns=recorded.cpu_initialization_period * NANOSECONDS,
        initial_readiness_delay_ns=recorded.initial_readiness_delay * NANOSECONDS,
        gates=gates_of(recorded.feature_gates or {}),
    )


def _write(errors: list[str]) -> Write:
    """What becomes of a scale write when successive attempts answer so (§13.1)."""
    for error in errors[:WRITE_ATTEMPTS]:
        if error != "conflict":
            return WriteFailed(error)
    return WriteFailed("conflict") if len(errors) >= WRITE_ATTEMPTS else Written()
