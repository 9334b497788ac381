"""What is kept of an HPA goes with it, whenever it goes."""

import msgspec
import pytest
from prometheus_client.core import Metric

from controller.cli.main import Parser
from controller.run_flags import add_flags
from controller.settings import from_arguments
from controller.witnesses import Witnesses
from tests.adapters.parts import LoopClock
from tests.adapters.test_troubles import sync, using
from tests.spine.stage import Stage


def series_of(families: list[Metric], name: str) -> list[str]:
    return [sample.name for family in families for sample in family.samples if sample.labels.get("hpa_name") == name]


@pytest.mark.parametrize("made_anew", [False, True])
async def test_a_sync_that_ends_after_its_hpa_was_deleted_leaves_no_series(*, made_anew: bool) -> None:
    parser = Parser(allow_abbrev=False)
    add_flags(parser)
    stage, last = Stage(), sync(using(3, 200), bounds=(1, 3))
    witnesses = Witnesses(from_arguments(parser.parse_args([])), stage.autoscalers, stage.company, LoopClock())

    def tell() -> None:
        for observer in witnesses.observers:
            observer(last)

    stage.autoscalers.put(last.autoscaler)
    tell()
    assert series_of(list(witnesses.families(syncing=True)), last.autoscaler.name)
    stage.autoscalers.remove(last.autoscaler.key)
    if made_anew:
        stage.autoscalers.put(msgspec.structs.replace(last.autoscaler, uid="another"))
    tell()
    assert series_of(list(witnesses.families(syncing=True)), last.autoscaler.name) == []
