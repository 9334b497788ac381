"""How old samples are when they are used: counted, and too old ones left out where the operator wants it."""

from collections.abc import Callable, Mapping
from typing import Final, Protocol

import msgspec

from controller.decide.instants import NANOSECONDS
from controller.decide.observed import PodsReading, ReadFailure, Reading, ResourceReading, dated, sample_times
from controller.wire.durations import format_duration

FLAG: Final = "--max-sample-age"


class AgeInstruments(Protocol):
    """Where ages are counted."""

    def sample_aged(self, family: str, source: str, age_s: float) -> None:
        """An answer was used whose oldest sample had this age."""
        ...

    def samples_undated(self, family: str, source: str, count: int) -> None:
        """So many samples were given without saying how old they are."""
        ...

    def samples_left_out(self, family: str, source: str, count: int) -> None:
        """So many samples were not used for their age."""
        ...


class Ages:
    """Looks at every answer before it is decided on."""

    def __init__(self, wall_ns: Callable[[], int], instruments: AgeInstruments, age_max_s: float) -> None:
        """`age_max_s` 0: no sample is too old."""
        self._wall_ns = wall_ns
        self._instruments = instruments
        self._age_max_ns = round(age_max_s * NANOSECONDS)

    def checked(self, family: str, source: str, reading: Reading) -> Reading:
        """The reading without samples that are too old, or whose age nobody knows; a failure where none is left."""
        times, undated = dated(reading)
        now_ns = self._wall_ns()
        if times:
            self._instruments.sample_aged(family, source, max(0, now_ns - min(times)) / NANOSECONDS)
        if undated:
            self._instruments.samples_undated(family, source, undated)
        if not self._age_max_ns:
            return reading
        left_out = {
            name: reason
            for name, at_ns in dict(sample_times(reading)).items()
            if (reason := self._too_old(now_ns, at_ns)) is not None
        }
        if not left_out:
            return reading
        self._instruments.samples_left_out(family, source, len(left_out))
        return _without(reading, left_out)

    def _too_old(self, now_ns: int, at_ns: int | None) -> str | None:
        """Why a sample is not used; None if it is."""
        if at_ns is None:
            return f"its sample has no timestamp, and {FLAG} is {format_duration(self._age_max_ns)}"
        age_ns = now_ns - at_ns
        if age_ns <= self._age_max_ns:
            return None
        whole = format_duration(age_ns // NANOSECONDS * NANOSECONDS)
        return f"its sample is {whole} old, and {FLAG} is {format_duration(self._age_max_ns)}"


def _without(reading: Reading, left_out: Mapping[str, str]) -> Reading:
    match reading:
        case ResourceReading(items=items):
            kept = tuple(item for item in items if item.pod not in left_out)
            if kept:
                return msgspec.structs.replace(reading, items=kept, left_out=left_out)
        case PodsReading(samples=samples):
            samples = {pod: sample for pod, sample in samples.items() if pod not in left_out}
            if samples:
                return msgspec.structs.replace(reading, samples=samples, left_out=left_out)
        case _:
            reason = left_out[""].replace("its sample", "the value", 1)
            return ReadFailure(reason, reading.origin)
    pod, reason = next(iter(left_out.items()))
    return ReadFailure(f"no pod has a sample that may be used: of {pod}, {reason}", reading.origin)
