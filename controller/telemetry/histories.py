"""The numbers of kept histories (`--keep-history`)."""

from collections.abc import Iterable

from prometheus_client.core import Metric

from controller.keeper import Keeper
from controller.telemetry.families import counter, gauge
from controller.telemetry.instruments import OURS


def families(keeper: Keeper | None) -> Iterable[Metric]:
    """What was saved and taken up; nothing without `--keep-history`."""
    if keeper is None:
        return
    saves = [((result,), count) for result, count in keeper.saves.items()]
    yield counter(f"{OURS}_history_saves", "Writes of objects that histories are kept in.", saves, ("result",))
    yield gauge(f"{OURS}_history_bytes", "What is kept of all histories, as last saved.", [((), keeper.size_bytes)])
    taken_up = [((), keeper.taken_up)]
    yield counter(f"{OURS}_histories_taken_up", "HPAs that went on with what an earlier term had left.", taken_up)
