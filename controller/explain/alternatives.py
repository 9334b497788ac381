"""Alternatives: what is changed and what is then decided, whether that is so, and how many may be tried."""

from typing import Final

import msgspec

from controller.explain.changes import Change, Moment, changed

PODS_MAX: Final = 60_000
"""How many pods are looked at for one sync, over all decisions that are tried: about a second."""

DECISIONS_MAX: Final = 1500
DECISIONS_MIN: Final = 40


class Alternative(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Changes that were tried, and what was then decided.

    Attributes:
        says: the sentence.
        changes: what is changed, in this order.
        desired: what is then decided; None when metrics would be looked at that were not read.
        unless: slightly smaller changes that change nothing, where there is such a thing as smaller.
        unchanged: what is decided with those.
    """

    says: str
    changes: tuple[Change, ...]
    desired: int | None
    unless: tuple[Change, ...] = ()
    unchanged: int | None = None


class Alternatives(msgspec.Struct, frozen=True):
    """What was found; `complete` is False when so many pods made looking on too costly."""

    found: tuple[Alternative, ...]
    complete: bool


def holds(moment: Moment, alternative: Alternative) -> bool:
    """Whether deciding with the changes gives what the alternative promises."""
    other = changed(moment, alternative.changes)
    if alternative.desired is None:
        return other.measures() and not moment.measures()
    if alternative.unless and changed(moment, alternative.unless).decided().desired != alternative.unchanged:
        return False
    return other.decided().desired == alternative.desired


class Spent(Exception):
    """As many decisions have been tried as one explanation may cost."""


class Trials:
    """Decisions on changed moments, as many as one explanation may cost: the fewer, the more pods there are."""

    def __init__(self, pods: int) -> None:
        self._left = max(DECISIONS_MIN, min(DECISIONS_MAX, PODS_MAX // max(1, pods)))

    def desired(self, moment: Moment) -> int | None:
        """The count that is decided on a moment; None if none is. Raises Spent when there may be no more."""
        self._left -= 1
        if self._left < 0:
            raise Spent
        return moment.decided().desired
