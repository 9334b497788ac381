"""Which events become new objects, which count up an existing one, and which are dropped (§16.2).

Pure but for the memory it keeps: time comes in as an argument.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Final, Generic, TypeVar

import msgspec

from controller.decide.events import Event
from controller.decide.instants import NANOSECONDS, Now

SIMILAR_MAX: Final = 10
"""From this many distinct messages on, events that differ in nothing else become one."""

SIMILAR_GAP_S: Final = 600
BURST: Final = 25
REFILL_S: Final = 300
REMEMBERED_MAX: Final = 4096
GONE_MAX: Final = 64
"""How many HPAs go before what is remembered of any that is gone is looked for: one look serves all of them."""

_NAME_MAX: Final = 253 - len(".") - len(f"{2**63:x}")
"""How much of an HPA's name fits before the time of an event's."""

COMBINED_PREFIX: Final = "(combined from similar events): "

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Subject(msgspec.Struct, frozen=True, gc=False):
    """The HPA an event is about."""

    namespace: str
    name: str
    uid: str
    version: str


class Posting(msgspec.Struct, frozen=True, gc=False):
    """What to send: a new event object, or a change of an existing one if `count` is above 1.

    `name` is the object's; times are wall times in nanoseconds.
    """

    subject: Subject
    event: Event
    name: str
    count: int
    first_ns: int
    last_ns: int


class _Recent(OrderedDict[K, V], Generic[K, V]):
    """The entries kept last, so many at most."""

    def forget(self, concerned: Callable[[K], bool]) -> None:
        # To ask may itself be what has more of them forgotten: a cache tells of what is gone when it is asked.
        for key in list(self):
            if concerned(key):
                self.pop(key, None)

    def keep(self, key: K, value: V) -> None:
        self[key] = value
        self.move_to_end(key)
        while len(self) > REMEMBERED_MAX:
            self.popitem(last=False)


class _Similar(msgspec.Struct, gc=False):
    """Messages seen of one kind of event about one HPA."""

    messages: dict[str, None]
    last_ns: int


class _Bucket(msgspec.Struct, gc=False):
    """Events that may still be posted about an HPA."""

    tokens: float
    filled_ns: int


IsThere = Callable[[str, str], bool]
"""Whether the HPA of this uid and namespace/name is there, and has not been made anew since."""

_Kind = tuple[str, str, str, str]
_Posted = tuple[_Kind, str]


class Correlator:
    """Remembers what was posted lately."""

    def __init__(self, is_there: IsThere) -> None:
        self._is_there = is_there
        self._similar: _Recent[_Kind, _Similar] = _Recent()
        self._posted: _Recent[_Posted, Posting] = _Recent()
        self._buckets: _Recent[tuple[str, str, str], _Bucket] = _Recent()
        self._gone = 0

    def correlate(self, subject: Subject, event: Event, happened_ns: int, now: Now) -> Posting | None:
        """What to post for an event, or None to drop it because there are too many.

        `happened_ns` is the wall time of the event itself; how many are too many is reckoned at `now`, as upstream.
        """
        kind = (subject.uid, f"{subject.namespace}/{subject.name}", event.type, event.reason)
        combined = self._is_one_of_many(kind, event.message, now)
        if combined:
            event = Event(event.type, event.reason, COMBINED_PREFIX + event.message)
        key = (kind, "" if combined else event.message)
        known = self._posted.get(key)
        if known is None:
            name = f"{subject.name[:_NAME_MAX].rstrip('-.')}.{happened_ns:x}"
            posting = Posting(subject, event, name, 1, happened_ns, happened_ns)
        else:
            posting = Posting(subject, event, known.name, known.count + 1, known.first_ns, happened_ns)
        self._posted.keep(key, posting)
        return posting if self._spend(kind, now) else None

    def lost(self, posting: Posting) -> None:
        """The posting's object does not exist on the server (any more): the next such event creates one anew."""
        for key, known in self._posted.items():
            if known.name == posting.name:
                del self._posted[key]
                return

    def one_is_gone(self) -> None:
        """Forget, once in a while, all HPAs that are gone: events about one may still come when it already is."""
        self._gone += 1
        if self._gone < GONE_MAX:
            return
        self._gone = 0
        self._similar.forget(lambda kind: not self._is_there(*kind[:2]))
        self._posted.forget(lambda posted: not self._is_there(*posted[0][:2]))
        self._buckets.forget(lambda bucket: not self._is_there(*bucket[:2]))

    def _is_one_of_many(self, kind: _Kind, message: str, now: Now) -> bool:
        similar = self._similar.get(kind)
        if similar is None or now.monotonic_ns - similar.last_ns > SIMILAR_GAP_S * NANOSECONDS:
            similar = _Similar({}, now.monotonic_ns)
        similar.last_ns = now.monotonic_ns
        similar.messages[message] = None
        self._similar.keep(kind, similar)
        if len(similar.messages) < SIMILAR_MAX:
            return False
        del similar.messages[next(iter(similar.messages))]
        return True

    def _spend(self, kind: _Kind, now: Now) -> bool:
        """Whether the HPA's bucket for this type of event still had a token."""
        uid, name, event_type, _ = kind
        key = (uid, name, event_type)
        bucket = self._buckets.get(key) or _Bucket(float(BURST), now.monotonic_ns)
        refill = (now.monotonic_ns - bucket.filled_ns) / (REFILL_S * NANOSECONDS)
        bucket.tokens = min(bucket.tokens + refill, float(BURST))
        bucket.filled_ns = now.monotonic_ns
        self._buckets.keep(key, bucket)
        if bucket.tokens < 1.0:
            return False
        bucket.tokens -= 1.0
        return True
