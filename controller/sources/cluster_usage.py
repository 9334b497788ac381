"""Usage of the pods of many namespaces from one list of the whole cluster, where that costs less (decision 0018)."""

from collections.abc import Callable, Mapping
from typing import Final, Protocol

import msgspec
import structlog

from controller.kube.client import Client
from controller.kube.urls import path_of
from controller.ports import ApiError, Refused
from controller.schedule import SLEW
from controller.sources.expected import Expected
from controller.sources.pod_usage import Usages, list_across, pieces_across
from controller.sources.shared import SharedReads
from controller.wire.errors import WireError

REQUEST_ITEMS: Final = 200
"""How many items of a longer list cost the API servers about as much as one request does, with its two hops,
authentication and authorization. For us it is rather a thousand."""

FRESHER_SHARE: Final = 0.8
"""What part of what lists of all may cost is spent on making them oftener, so that syncs see newer usage: of a thousand
HPAs in small namespaces all that are due in one moment see a list that is made then."""

LISTS_A_SYNC: Final = 0.18
"""How many are made for each who asks at most, however cheap they are: less than a tenth of the two reads that the
built-in controller makes in a sync."""

OFTENER_MAX: Final = 12.0
"""How many times as often at most."""

ASKING_PERIODS: Final = 4
"""Over how many periods it is seen for how much of one anybody asks."""

PAUSE_PERIODS: Final = 8.0
"""How long namespaces are listed one by one after a list of the whole cluster has failed."""

_PATH: Final = path_of("apis", "metrics.k8s.io", "v1beta1", "pods")
_FORBIDDEN: Final = 403

_log = structlog.get_logger(__name__)


class Census(Protocol):
    """How many pods there are."""

    def __len__(self) -> int:
        """In the whole cluster."""
        ...

    def count(self, namespace: str) -> int:
        """In a namespace."""
        ...


def lists_per_period(period_s: float, fresh_s: float) -> float:
    """How many lists of the whole cluster a period needs."""
    return period_s / fresh_s if fresh_s > 0 else float("inf")


def lists_worth(pods: int, namespaces: int, pods_in_these: int) -> float:
    """How many lists of all pods cost the API servers as much as a list of each of these namespaces."""
    return (namespaces * REQUEST_ITEMS + pods_in_these) / (REQUEST_ITEMS + pods)


def lists_spent(worth: float, asking: int) -> float:
    """How many lists are made in a period where so many are worth it and so many ask."""
    return min(worth * FRESHER_SHARE, asking * LISTS_A_SYNC)


def fresher_s(asking_s: float, fresh_s: float, lists: float) -> float:
    """How long a list is shared where so many may be made in a period: `fresh_s`, or less if there is room.

    `asking_s` is for how much of a period anybody asks.
    """
    return max(fresh_s / OFTENER_MAX, min(fresh_s, asking_s / lists))


class _Cluster(msgspec.Struct, frozen=True):
    """What a list said about the namespaces of which it was asked."""

    wanted: frozenset[str]
    usages: Mapping[str, Usages]

    def pieces(self) -> list[object]:
        """All that has to be freed one day."""
        return pieces_across(self.usages)


class ClusterUsage:
    """Lists the whole cluster while that is cheaper, permitted and possible."""

    def __init__(
        self,
        client: Client,
        time_s: Callable[[], float],
        period_s: float,
        census: Census,
        expected: Expected,
        fresh_s: float,
    ) -> None:
        """`fresh_s`: how long a list is shared at most."""
        self._client = client
        self._time_s = time_s
        self._period_s = period_s
        self._census = census
        self._fresh_max_s = fresh_s
        self._lists: SharedReads[None, _Cluster] = SharedReads(
            self._list, time_s, lambda _: self._served[-1][1], pieces=_Cluster.pieces
        )
        self._expected = expected
        self._judged_s = float("-inf")
        self._cheaper = False
        self._spent = 0.0
        self._served: list[tuple[float, float]] = []
        self._never = False
        self._paused_until_s = float("-inf")

    async def usages(self, namespace: str) -> Usages | None:
        """What a namespace uses, empty if nothing; None: it has to be listed by itself. Raises nothing."""
        if not self._expected.knows(namespace) or not self._serves(self._time_s()):
            return None
        try:
            cluster = await self._lists.get(None)
        except Refused as error:
            self._give_up(error, for_good=error.status == _FORBIDDEN)
            return None
        except (ApiError, WireError) as error:
            self._give_up(error, for_good=False)
            return None
        if cluster.usages and not any(usages.labelled for usages in cluster.usages.values()):
            self._give_up(ApiError("its items have no labels"), for_good=True)
            return None
        if namespace not in cluster.wanted:
            return None  # nobody was expected to ask about it so early
        return cluster.usages.get(namespace) or Usages()

    def _serves(self, now_s: float) -> bool:
        if self._never or now_s < self._paused_until_s:
            return False
        if now_s - self._judged_s >= self._fresh_max_s:
            self._judged_s = now_s
            asked = self._expected.namespaces()
            worth = lists_worth(len(self._census), len(asked), sum(map(self._census.count, asked)))
            self._spent = lists_spent(worth, len(self._expected))
            before, self._cheaper = self._cheaper, worth > lists_per_period(self._period_s, self._fresh_max_s)
            if self._cheaper and not before:
                _log.debug("usage of pods is listed for the whole cluster", namespaces=len(asked))
        return self._cheaper

    async def _list(self, _: None) -> _Cluster:
        now_s = self._time_s()
        serves_s = self._serves_for_s(now_s)
        # Those who ask a little early, since they drift to another phase, are expected, too.
        early_s = self._period_s * (SLEW + 0.06)
        wanted = self._expected.until(now_s + serves_s + early_s)
        return _Cluster(wanted, await list_across(self._client, _PATH, wanted))

    def _serves_for_s(self, now_s: float) -> float:
        """How long a list that begins now is shared.

        HPAs that were created together ask within a few seconds of each period at first: the lists that are
        saved in the rest of it are made then.
        """
        seen_s = ASKING_PERIODS * self._period_s
        served = [(began_s, serves_s) for began_s, serves_s in self._served if began_s > now_s - seen_s]
        # Where nothing has been seen they may ask all through each period.
        self._served = served or [(now_s, seen_s)]
        asking_s = min(self._period_s, sum(serves_s for _, serves_s in self._served) / ASKING_PERIODS)
        serves_s = fresher_s(asking_s, self._fresh_max_s, self._spent)
        self._served.append((now_s, serves_s))
        return serves_s

    def _give_up(self, error: Exception, *, for_good: bool) -> None:
        """Say it once, not for everybody who waited."""
        if self._never or self._time_s() < self._paused_until_s:
            return
        self._never = for_good
        self._paused_until_s = self._time_s() + PAUSE_PERIODS * self._period_s
        _log.warning(
            "usage of pods cannot be listed for the whole cluster, so it is listed by namespace",
            how_long="from now on" if for_good else f"{PAUSE_PERIODS * self._period_s:g} s",
            error=str(error),
        )
