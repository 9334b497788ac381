"""Another controller at work on an HPA of a stage."""

from typing import Any

import msgspec

from controller.ports import StatusWrite
from tests.spine.objects import KEY, autoscaler, scale
from tests.spine.stage import PERIOD_S, Stage

SILENCE_S = 4 * PERIOD_S
"""For how long a stage's company leaves an HPA to another controller."""


def another_writes(stage: Stage, manager: str = "kube-controller-manager", **status: Any) -> None:
    """A status write of another controller reaches the cache."""
    cached = stage.autoscalers.get(KEY)
    assert cached is not None
    time = f"2026-01-01T00:00:{len(cached.foreign_writes) + int(cached.version):02}Z"
    others = tuple(write for write in cached.foreign_writes if write.manager != manager)
    stage.autoscalers.put(
        msgspec.structs.replace(
            cached,
            version=str(int(cached.version) + 1),
            status=msgspec.structs.replace(cached.status, **status),
            foreign_writes=(*others, StatusWrite(manager, time)),
        )
    )


def overloaded(**options: Any) -> Stage:
    """Two replicas that use twice their target."""
    stage = Stage(**options)
    stage.add(autoscaler(), scale(2))
    stage.uses(200, 200)
    return stage
