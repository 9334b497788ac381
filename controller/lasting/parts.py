"""What a running controller keeps, in the parts in which it is saved."""

from controller.decide.history import History
from controller.decide.instants import Now
from controller.lasting.records import Record, fresh, recorded
from controller.lasting.shards import Shard, digest, shard_of, shards_for


class Latest:
    """What an HPA's last sync of this term has left; `asked` is its newest recommendation, None if there was none."""

    __slots__ = ("asked", "history", "replicas", "synced_ns")

    def __init__(self, history: History, replicas: int, synced_ns: int, asked: int | None) -> None:
        """`synced_ns`: when it had ended (monotonic)."""
        self.history = history
        self.replicas = replicas
        self.synced_ns = synced_ns
        self.asked = asked

    def record(self, now: Now, window_ns: int) -> Record:
        """As it is kept."""
        return recorded(self.history, self.replicas, self.synced_ns, now, window_ns)


class Part:
    """One object: what belongs into it, and what is known of the stored one.

    Attributes:
        latest: HPAs that have been synced in this term.
        left: records of earlier terms, of HPAs that have not; partial where later syncs may have been made.
        version: of the stored object; None: it has to be asked for; empty: there is none.
        exists: there has been one.
        unread: what it holds has not been read yet, and would be lost if it were replaced.
        changed: something but time has changed since it was saved.
        saved_s: when it was (loop time).
    """

    def __init__(self) -> None:
        self.latest: dict[bytes, Latest] = {}
        self.left: dict[bytes, Record] = {}
        self.version: str | None = None
        self.exists = False
        self.unread = True
        self.changed = True
        self.saved_s = float("-inf")

    def put(self, key: bytes, latest: Latest) -> bool:
        """Replace what was known of an HPA; True if that was a record of an earlier term."""
        before = self.latest.get(key)
        self.latest[key] = latest
        # The newest recommendation supersedes all that are alike; only its time is new.
        if before is None or (before.asked, before.replicas) != (latest.asked, latest.replicas):
            self.changed = True
        return self.left.pop(key, None) is not None

    def forget(self, uid: str) -> None:
        """An HPA is gone."""
        key = digest(uid)
        known = self.latest.pop(key, None), self.left.pop(key, None)
        self.changed |= known != (None, None)


class Parts:
    """All parts: their number is a power of two, and only grows."""

    def __init__(self, count: int = 1) -> None:
        self._parts = [Part() for _ in range(count)]

    def __len__(self) -> int:
        return len(self._parts)

    def __getitem__(self, number: int) -> Part:
        return self._parts[number]

    def of(self, key: bytes) -> Part:
        """The part in which an HPA is, by the digest of its uid."""
        return self._parts[shard_of(key, len(self._parts))]

    def extend(self, count: int) -> None:
        """To so many parts, if they are fewer; what is in them moves to where it is looked for."""
        if count <= len(self._parts):
            return
        before, self._parts = self._parts, [*self._parts, *(Part() for _ in range(len(self._parts), count))]
        for part in before:
            latest, part.latest = part.latest, {}
            left, part.left = part.left, {}
            part.changed = True
            for key, each in latest.items():
                self.of(key).latest[key] = each
            for key, record in left.items():
                self.of(key).left[key] = record

    def grow(self, hpas: int) -> None:
        """To as many parts as so many HPAs need."""
        self.extend(shards_for(hpas))

    def take(self, shard: Shard, known: set[bytes] | None, *, tenure: int | None, now: Now, window_ns: int) -> None:
        """The records of HPAs that are known, have not been synced, and can still count; of several, the newest.

        They are whole only if the holder of the Lease before this one has said so at its end. `known` None: nobody can
        tell which HPAs there are.
        """
        whole = shard.whole and shard.tenure == (None if tenure is None else tenure - 1)
        for key, record in shard.records.items():
            part = self.of(key)
            left = part.left
            newer = key not in left or left[key].synced_ns < record.synced_ns
            there = (known is None or key in known) and key not in part.latest
            if there and newer and fresh(record, now, window_ns):
                left[key] = Record(
                    record.synced_ns, record.replicas, record.history, partial=record.partial or not whole
                )
                part.changed = True

    def begin_term(self, now: Now, window_ns: int) -> None:
        """What was synced in the last term is now what an earlier term has left.

        A sync of it that is still under way will not be heard of, so all of it is partial.
        """
        for part in self._parts:
            for key, each in part.latest.items():
                record = each.record(now, window_ns)
                part.left[key] = Record(record.synced_ns, record.replicas, record.history, partial=True)
            part.latest.clear()
            part.changed = True

    @property
    def left(self) -> int:
        """How many HPAs there are of which only a record of an earlier term is known."""
        return sum(len(part.left) for part in self._parts)
