"""What a check-up says: findings, and the words that they are made of."""

from collections.abc import Sequence
from typing import Final, Literal

import msgspec

from controller.explain.facts import Patient

_SHOWN: Final = 3


class Finding(msgspec.Struct, frozen=True):
    """Something to see to.

    Attributes:
        code: names the rule and never changes.
        about: an HPA's key, or what it concerns.
        hpas: the keys of all HPAs that it concerns, where `about` is none of them.
    """

    severity: Literal["problem", "advice"]
    code: str
    about: str
    text: str
    remedy: str
    hpas: tuple[str, ...] = ()


def target_of(one: Patient) -> str:
    """What it scales: `Deployment web`."""
    return f"{one.spec.target.kind} {one.spec.target.name}"


def problem(one: Patient, code: str, text: str, remedy: str) -> Finding:
    """A finding about one HPA that keeps it, or will keep it, from being scaled as it should be."""
    return Finding("problem", code, one.key, text, remedy)


def advice(one: Patient, code: str, text: str, remedy: str) -> Finding:
    """A finding about one HPA that does no harm yet."""
    return Finding("advice", code, one.key, text, remedy)


def plural(noun: str, count: int) -> str:
    """The noun, of so many."""
    return noun if count == 1 else f"{noun}s"


def verb(stem: str, count: int) -> str:
    """What so many do: `scales` for one, else `scale`."""
    return f"{stem}s" if count == 1 else stem


def counted(keys: Sequence[str]) -> str:
    """How many HPAs, with the names of the first few: `2 HPAs (shop/api, shop/web)`."""
    shown = ", ".join(sorted(keys)[:_SHOWN])
    more = f" and {len(keys) - _SHOWN} more" if len(keys) > _SHOWN else ""
    return f"{len(keys)} HPA{'s' if len(keys) > 1 else ''} ({shown}{more})"
