"""Where variants decide differently from what was recorded, and by how much."""

import msgspec

from controller.decide.result import Decision, MetricFailure
from controller.recording.course import Frame, Moment
from controller.recording.live import NOT_RECORDED
from controller.recording.timeline import why

CAVEAT = (
    "Recorded replicas, pods and load do not react to changed decisions: "
    "each sync says what would have been decided at that moment, no more."
)


class Wish(msgspec.Struct, frozen=True):
    """What a variant would have the replicas be at a sync.

    `by` is the difference to what was recorded, None where one of the two did not decide; `differs` when the counts do.
    """

    desired: int | None
    by: int | None
    differs: bool
    why: str


class Row(msgspec.Struct, frozen=True):
    """A sync: the replicas that were there, what was desired as recorded, and each variant's wish."""

    hpa: str
    t: float
    replicas: int | None
    desired: int | None
    wishes: tuple[Wish, ...]

    @property
    def differs(self) -> bool:
        """Whether any variant does."""
        return any(wish.differs for wish in self.wishes)


def row(frame: Frame) -> Row:
    """A frame whose first moment is the recorded one, compared with the others."""
    recorded, *others = frame.moments
    desired = recorded.decision.desired
    return Row(
        frame.hpa,
        frame.t,
        recorded.decision.replicas,
        desired,
        tuple(_wish(desired, moment) for moment in others),
    )


def _wish(recorded: int | None, moment: Moment) -> Wish:
    wanted = moment.decision.desired
    by = None if wanted is None or recorded is None else wanted - recorded
    return Wish(wanted, by, wanted != recorded, why(moment.decision))


class Tally:
    """What has been seen of one variant.

    Attributes:
        syncs, differing: how many there were, and how many of them differ.
        unanswered: syncs in which it asked for a metric that was not recorded.
        compared: syncs in which both it and what was recorded decided, so that the difference can be told.
        first: the first row that differs.
        least, most, total: of the differences in replicas, where there are any; least and most None: nowhere.
    """

    def __init__(self, index: int) -> None:
        """`index`: of the variant among the wishes."""
        self._index = index
        self.syncs = self.differing = self.unanswered = self.compared = self.total = 0
        self.first: Row | None = None
        self.least: int | None = None
        self.most: int | None = None

    def take(self, row: Row, decision: Decision) -> None:
        """Count a row; `decision` is the variant's."""
        self.syncs += 1
        self.unanswered += _unanswered(decision)
        wish = row.wishes[self._index]
        self.compared += wish.by is not None
        if not wish.differs:
            return
        self.differing += 1
        self.first = self.first or row
        if wish.by is not None:
            self.least = wish.by if self.least is None else min(self.least, wish.by)
            self.most = wish.by if self.most is None else max(self.most, wish.by)
            self.total += wish.by

    def alike(self) -> str:
        """What is said where it does not differ."""
        if self.syncs and not self.compared:
            return f"whether it differs cannot be told: in none of {self.syncs} syncs is there a number of replicas"
        return f"the same replicas in {self._over()}"

    def span(self) -> str:
        """From the least to the most difference in replicas, of the syncs that differ; the average over all."""
        if self.least is None or self.most is None:
            return "by how many replicas cannot be told"
        span = f"{self.least:+d}" if self.least == self.most else f"{self.least:+d} to {self.most:+d}"
        return f"by {span} replicas, {self.total / self.compared:+.2f} on average over {self._over()}"

    def _over(self) -> str:
        if self.compared == self.syncs:
            return f"all {self.syncs} syncs" if self.syncs != 1 else "the only sync"
        return f"the syncs that can be compared, {self.compared} of {self.syncs}"

    def first_wish(self) -> Wish | None:
        """The wish of the first row that differs."""
        return None if self.first is None else self.first.wishes[self._index]


def _unanswered(decision: Decision) -> bool:
    results = () if decision.evaluation is None else decision.evaluation.results
    return any(isinstance(result, MetricFailure) and NOT_RECORDED.message in result.error for result in results)
