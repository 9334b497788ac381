"""The arithmetic of Deployments: how large each of their replica sets should be next.

Pure functions over numbers. They follow what the Deployment controller of Kubernetes 1.36 does in
pkg/controller/deployment (rolling.go, sync.go, util/deployment_util.go).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Sequence


class Bounds(msgspec.Struct, frozen=True):
    """How many pods a rolling update may have too many, and how many too few."""

    surge: int
    unavailable: int


class Part(msgspec.Struct, frozen=True):
    """A replica set during a rollout.

    `size` is how many pods it should have, `available` how many can be used; `most` is how many the Deployment
    could have had altogether when this one was sized last (0 when nobody knows). `age` orders parts: smaller
    is older.
    """

    name: str
    size: int
    available: int
    age: int
    most: int = 0


def share(value: int | str, whole: int, *, up: bool) -> int:
    """A number, or a percentage of the whole, which is rounded up or down; raises ValueError for other texts."""
    if isinstance(value, int):
        return value
    digits = value.removesuffix("%")
    if not value.endswith("%") or not digits.isdecimal():
        raise ValueError(f"{value!r} is neither a number nor a percentage")
    product = whole * int(digits)
    return -(-product // 100) if up else product // 100


def bounds(desired: int, surge: int | str, unavailable: int | str) -> Bounds:
    """The bounds for so many pods: a surge is rounded up, what may be missing is rounded down.

    Something must be allowed, or nothing would ever move, so two zeros let one pod be missing.
    """
    more, fewer = share(surge, desired, up=True), share(unavailable, desired, up=False)
    if not more and not fewer:
        fewer = 1
    return Bounds(more, min(fewer, desired))


def new_size(desired: int, limits: Bounds, new: Part, everything: Sequence[Part]) -> int:
    """How large the part of the present template is next: up to what is desired, as far as the surge allows."""
    if new.size >= desired:
        return desired
    room = desired + limits.surge - sum(part.size for part in everything)
    return new.size + max(0, min(room, desired - new.size))


def old_sizes(desired: int, limits: Bounds, new: Part, old: Sequence[Part]) -> dict[str, int]:
    """The parts of older templates that shrink, with their next sizes.

    Pods that cannot be used go first; then others, as long as enough available ones remain.
    """
    minimum = desired - limits.unavailable
    total = new.size + sum(part.size for part in old)
    spare = total - minimum - (new.size - new.available)
    if spare <= 0:
        return {}
    sizes = {part.name: part.size for part in old}
    ordered = sorted(old, key=lambda part: part.age)
    for part in ordered:
        unhealthy = min(spare, max(0, part.size - part.available))
        sizes[part.name] -= unhealthy
        spare -= unhealthy
    surplus = new.available + sum(part.available for part in old) - minimum
    for part in ordered:
        removed = max(0, min(surplus, sizes[part.name]))
        sizes[part.name] -= removed
        surplus -= removed
    return {part.name: sizes[part.name] for part in old if sizes[part.name] != part.size}


def proportional_sizes(desired: int, limits: Bounds, parts: Sequence[Part]) -> dict[str, int]:
    """The sizes of all parts when a Deployment is scaled while more than one of them has pods.

    Each keeps its share; what rounding leaves over goes to the largest. Among equals the newer ones grow first
    and the older ones shrink first.
    """
    allowed = desired + limits.surge if desired else 0
    change = allowed - sum(part.size for part in parts)
    sizes = {part.name: part.size for part in parts}
    if not change:
        return sizes
    ordered = sorted(parts, key=lambda part: (-part.size, -part.age if change > 0 else part.age))
    left = change
    for part in ordered:
        if part.size and left:
            wanted = _growth(part, desired, limits.surge)
            step = min(wanted, left) if change > 0 else max(wanted, left)
            sizes[part.name] += step
            left -= step
    largest = ordered[0].name
    sizes[largest] = max(0, sizes[largest] + left)
    return sizes


def _growth(part: Part, desired: int, surge: int) -> int:
    """By how much a part would grow to keep its share, to the nearest whole number; all of it goes at zero."""
    if not desired:
        return -part.size
    if not part.most:
        return 0
    return (2 * part.size * (desired + surge) + part.most) // (2 * part.most) - part.size
