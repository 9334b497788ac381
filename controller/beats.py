"""Moments that timers have in common: a loop with little to do is woken once for all that is due about then.

What is asleep in between pays for each waking with caches that have gone cold, a quarter of a millisecond of CPU here.
"""

import math
from typing import Final

BEAT_S: Final = 0.05
_CLEAR_BEATS: Final = 0.1


def beat_after(at_s: float, beat_s: float) -> float:
    """The first beat that is at least a tenth of `beat_s` after a moment; loop time.

    Not the moment itself: under uvloop a timer may fire a little early, find nothing due, and spin.
    """
    return (math.floor(at_s / beat_s + _CLEAR_BEATS) + 1) * beat_s
