"""What every operation needs: clock, state, kinds, and the source of what would else be random."""

from __future__ import annotations

import random
import uuid
from typing import TYPE_CHECKING

from controller.lab.kinds import builtin
from controller.lab.objects.resources import Registry, ValidationSettings
from controller.lab.storage.store import Store

if TYPE_CHECKING:
    from controller.lab.clock import LabClock

_SUFFIX_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIX_LENGTH = 5
_GENERATED_MAX = 63


class World:
    """The lab's state and the rules that are in force.

    Args:
        clock: Gives timestamps and drives expiry.
        seed: Determines every uid and generated name.
        history_limit: Changes remembered per resource; fewer make 410 more likely.
        first_revision: The resourceVersion before the first write.
        settings: Feature gates that change what is valid.

    """

    def __init__(
        self,
        clock: LabClock,
        *,
        seed: int = 1,
        history_limit: int = 10_000,
        first_revision: int = 1,
        settings: ValidationSettings | None = None,
    ) -> None:
        self.clock = clock
        self.settings = settings or ValidationSettings()
        self.store = Store(clock.monotonic_s, first_revision, history_limit)
        self.registry = Registry()
        self._random = random.Random(seed)  # noqa: S311 - repeatable on purpose, nothing secret comes from it
        for endpoint in builtin.endpoints():
            self.registry.add(endpoint)

    def new_uid(self) -> str:
        """A uid that no other object has, the same in every run with the same seed."""
        return str(uuid.UUID(int=self._random.getrandbits(128), version=4))

    def generated_name(self, prefix: str) -> str:
        """A name from a prefix (`generateName`) and five characters."""
        kept = prefix[: _GENERATED_MAX - _SUFFIX_LENGTH]
        return kept + "".join(self._random.choice(_SUFFIX_ALPHABET) for _ in range(_SUFFIX_LENGTH))
