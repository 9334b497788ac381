"""Who looks at syncs has no part in them."""

import pytest
from structlog.testing import capture_logs

from controller.decide.spec import Settings
from controller.ports import Sync
from tests.spine.objects import KEY, autoscaler, scale
from tests.spine.stage import Stage

pytestmark = pytest.mark.looptime


def broken(sync: Sync) -> None:
    raise LookupError(f"nothing is known of {sync.autoscaler.name}")


async def test_an_observer_that_fails_costs_neither_others_nor_the_hpa_anything() -> None:
    told: list[Sync] = []
    stage = Stage(Settings(), observers=(broken, told.append))
    stage.add(autoscaler(), scale(2))
    stage.uses(200, 200)
    with capture_logs() as lines:
        await stage.sync()
    assert [write.replicas for write in stage.scales.accepted] == [4]
    assert stage.status().replicas_desired == 4
    assert stage.sink.reasons() == ["SuccessfulRescale"]
    assert [sync.decision.desired for sync in told] == [4]
    [line] = [line for line in lines if line["event"] == "an observer failed"]
    assert (line["about"], line["exc_info"]) == (KEY, True)
    assert "broken" in line["observer"]
