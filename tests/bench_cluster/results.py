"""What was measured, as it is written down."""

import msgspec

from tests.bench_cluster.timings import Spread


class Cost(msgspec.Struct, frozen=True):
    """What one process took while syncs were counted."""

    cpu_s: float
    resident_mib: float
    """At the end."""
    resident_max_mib: float
    """The most since it was started."""


class Reaction(msgspec.Struct, frozen=True):
    """How a change of the load was followed."""

    delay: Spread | None
    """From the change to each HPA's scale write; None when there was none."""
    missing: int
    """HPAs that had not scaled when the time was up."""
    limit_s: float
    """How long was waited."""

    @property
    def all_done_s(self) -> float | None:
        """When the last HPA had scaled; None if not all had."""
        return None if self.missing or self.delay is None else self.delay.max_s


class Loop(msgspec.Struct, frozen=True):
    """How punctually our event loop turned to what was due, by its own metric."""

    looks: int
    """How often that was measured."""
    late: int
    """How often it was more than 50 ms late."""
    within_s: float | None
    """The least bound of the metric that was always kept; None if not even the largest was."""


class Result(msgspec.Struct, frozen=True):
    """One contender on one population."""

    cell: str
    contender: str
    command: str
    hpas: int
    pods: int
    period_s: float
    ready_s: float
    """From its start until it said to be ready."""
    first_pass_s: float | None
    """From then on until every HPA had been synced once; None if that did not happen in time."""
    warm_s: float
    """How long it worked before syncs were counted."""
    window_s: float
    """How long syncs were counted."""
    syncs: int
    interval: Spread | None
    lateness: Spread | None
    requests_per_sync: dict[str, float]
    """By verb and resource, the commonest first."""
    refused: dict[str, int]
    """Requests that the API server did not do, by status, verb and resource."""
    reads_per_sync: float
    status_writes_per_sync: float
    """Of all, also those that were refused."""
    cost: Cost
    cpu_s_per_1000_syncs: float
    others: dict[str, Cost]
    """The processes beside it: kube-apiserver, etcd, the metrics stub, the benchmark itself."""
    status_writes_at_rest: int | None
    """When nothing changed, within rest_s; None when that was not looked at."""
    rest_s: float
    reaction: Reaction | None
    loop: Loop | None
    """Of ours, in the window."""
    postponed: int | None
    """Syncs of ours in which nothing was decided, for lack of the Lease or of a watch, since its start."""
    load_average: float
    """Of the machine over the last minute, when the window ended."""
    idle_cores: float | None = None
    """How much of the machine was idle in the window; None in reports from before that was looked at, as below."""
    stolen_cores: float | None = None
    """How much of it the machine's host gave to others."""
    additions_s: float | None = None
    """How long ten million additions took a Python loop before the contender was started."""


class Report(msgspec.Struct, frozen=True):
    """One invocation."""

    command: str
    machine: str
    cores: int
    seconds: float
    results: list[Result]
    left_out: list[str]
    """Cells that were not run, with the reason."""
