"""How long our event loop computed without an iteration, from the histogram that it publishes. Pure."""

from tests.bench_cluster.results import Loop
from tests.e2e.controller_process import Metrics

METRIC = "hpa_controller_event_loop_held_seconds"
LATE_S = "0.05"
"""A bound of the metric: what is beyond counts as held."""


def loop_between(before: Metrics | None, after: Metrics | None) -> Loop | None:
    """What was counted between two looks at the metrics; None for one who does not publish it."""
    if before is None or after is None or METRIC not in after.families:
        return None
    bounds = sorted(
        {bound for sample in after.families[METRIC].samples if (bound := sample.labels.get("le"))}, key=float
    )
    name = f"{METRIC}_bucket"
    counts = {bound: round(after.total(name, le=bound) - before.total(name, le=bound)) for bound in bounds}
    looks = counts.pop("+Inf")
    within_s = next((float(bound) for bound, count in counts.items() if count == looks), None)
    return Loop(looks, looks - counts[LATE_S], within_s)
