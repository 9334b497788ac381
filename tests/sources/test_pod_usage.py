"""Usage of pods: from a list of each namespace, or of the whole cluster where that costs less (§18.1)."""

import asyncio
import heapq
from collections import Counter

import pytest
from structlog.testing import capture_logs

from controller.decide.observed import ReadFailure
from controller.schedule import Schedule
from controller.sources.cluster_usage import fresher_s, lists_per_period, lists_spent, lists_worth
from controller.sources.expected import Expected
from controller.sources.shared import FRESH_MAX_S, fresh_s, meanwhile_s
from tests.adapters.raw_server import answer
from tests.sources.pod_metrics import PERIOD_S, Asking, asking, used


async def test_the_whole_cluster_answers_as_the_namespaces_do() -> None:
    async with asking() as source:
        first = await source.round()
        assert source.cluster.taken() == {"namespace": 30}
        assert await source.round() == first
        assert source.cluster.taken() == {"cluster": 1}
        assert used(first[0]) == [("web-0-0", 100), ("web-0-1", 100)]


async def test_few_large_namespaces_are_listed_one_by_one() -> None:
    async with asking(namespaces=2, hpas=100, pods_each=10) as source:
        for _ in range(3):
            await source.round()
            assert source.cluster.taken() == {"namespace": 2}


async def test_no_answer_is_older_than_three_seconds_and_every_sync_sees_a_newer_one() -> None:
    async with asking() as source:
        await source.round()
        await source.round()
        for milli in range(200, 230):
            source.cluster.milli = milli
            source.cluster.now_s += FRESH_MAX_S + 0.001
            readings = await asyncio.gather(*(source.ask(one, "web-0") for one in source.cluster.namespaces))
            assert {value for reading in readings for _, value in used(reading)} == {milli}
    assert lists_per_period(PERIOD_S, fresh_s(PERIOD_S)) == 5


@pytest.mark.parametrize(("namespaces", "hpas", "most"), [(150, 2, 0.2), (200, 1, 0.2), (80, 3, 0.2), (4, 100, 0.1)])
async def test_reads_per_sync(namespaces: int, hpas: int, most: float) -> None:
    """The built-in controller makes two to three: a scale and each resource metric of each HPA.

    HPAs are seen at any time, drift to the phases of their namespaces, and are then spread over the period.
    """
    async with asking(namespaces, hpas, pods_each=1) as source:
        cluster = source.cluster
        keys = [(namespace, name) for namespace in cluster.namespaces for name in cluster.names]
        due = [(number * 7.123 % PERIOD_S, *key) for number, key in enumerate(keys)]
        heapq.heapify(due)
        schedule = Schedule(PERIOD_S, keys.__len__)
        syncs, warm_s, end_s = 0, 2 * PERIOD_S, 16 * PERIOD_S
        while due[0][0] < end_s:
            cluster.now_s, namespace, name = due[0]
            if syncs == 0 and cluster.now_s >= warm_s:
                cluster.taken()
            syncs += cluster.now_s >= warm_s
            assert used(await source.ask(namespace, name))
            again_s = schedule.next_due_s(f"{namespace}/{name}", cluster.now_s, cluster.now_s)
            heapq.heapreplace(due, (again_s, namespace, name))
        assert syncs >= 13 * len(keys)
        taken = cluster.taken()
        assert taken.total() / syncs <= most


@pytest.mark.parametrize("status", ["403 Forbidden", "503 Service Unavailable"])
async def test_where_the_cluster_cannot_be_listed_namespaces_are_and_nobody_notices(status: str) -> None:
    async with asking() as source:
        cluster = source.cluster
        cluster.refusals["cluster"] = answer(b'{"message":"no"}', status=status)
        with capture_logs() as logs:
            first = await source.round()
            cluster.taken()
            assert await source.round() == first
            assert cluster.taken() == {"cluster": 1, "namespace": 30}
            cluster.refusals.clear()
            for _ in range(7):
                assert await source.round() == first
            assert cluster.taken() == {"namespace": 7 * 30}
        warnings = [line["how_long"] for line in logs if line["log_level"] == "warning"]
        assert warnings == ["from now on" if "403" in status else "120 s"], "said once, not by everybody who waited"
        for _ in range(2):
            await source.round()
        assert ("cluster" in cluster.taken()) == ("503" in status)


async def test_an_api_without_labels_is_never_asked_for_the_whole_cluster_again() -> None:
    async with asking(namespaces=30, hpas=1) as source:
        source.cluster.labels = False
        for _ in range(4):
            for reading in await source.round():
                assert used(reading) == [("web-0-0", 100), ("web-0-1", 100)]
        assert source.cluster.taken()["cluster"] == 1


async def test_a_malformed_item_harms_only_those_whose_pod_it_is() -> None:
    async with asking() as source:
        source.cluster.spoiled = {"team-7"}
        await source.round()
        source.cluster.taken()
        answers = await source.round()
        assert source.cluster.taken() == {"cluster": 1}
        failed = [isinstance(reading, ReadFailure) for reading in answers]
        assert failed == [number // 2 == 7 for number in range(60)]
        message = "metrics of pod web-0-0: 'yesterday' is not an RFC 3339 time such as 2026-01-31T12:00:00Z"
        assert answers[14] == ReadFailure(message)


async def test_a_pod_without_a_name_harms_only_those_whose_pod_it_is() -> None:
    async with asking() as source:
        source.cluster.nameless = {"team-7"}
        for kind in ("namespace", "cluster"):
            answers = await source.round()
            assert list(source.cluster.taken()) == [kind]
            assert [isinstance(reading, ReadFailure) for reading in answers] == [one // 2 == 7 for one in range(60)]
            assert answers[14] == ReadFailure("metrics of a pod: it has no name - at `$.metadata.name`")


async def test_a_namespace_that_nobody_was_expected_to_ask_about_is_listed_by_itself() -> None:
    async with asking() as source:
        await source.round()
        source.cluster.namespaces.append("new")
        source.cluster.taken()
        answers = await source.round()
        assert source.cluster.taken() == {"cluster": 1, "namespace": 1}
        assert used(answers[-1]) == used(answers[1])
        await source.round()
        assert source.cluster.taken() == {"cluster": 1}


async def test_once_few_ask_namespaces_are_listed_again() -> None:
    async with asking(pods_each=20) as source:
        for _ in range(3):
            await source.round()
        assert source.cluster.taken()["cluster"] == 2
        few = source.cluster.namespaces[:3]
        for _ in range(5):
            await source.round(few)
        source.cluster.taken()
        await source.round(few)
        assert source.cluster.taken() == {"namespace": 3}


async def test_few_hpas_among_the_pods_of_others_have_only_their_own_listed() -> None:
    async with asking(namespaces=1, hpas=500) as source:
        few = source.cluster.names[:2]
        await asyncio.gather(*(source.ask("team-0", name) for name in few))
        assert source.cluster.taken() == {"namespace": 1}, "nobody was known yet"
        source.cluster.items_sent = 0
        for _ in range(3):
            source.cluster.now_s += PERIOD_S
            for name in few:
                assert used(await source.ask("team-0", name)) == [(f"{name}-0", 100), (f"{name}-1", 100)]
        assert source.cluster.taken() == {"selected": 3 * 2}
        assert source.cluster.items_sent == 3 * 2 * 2


async def test_once_many_ask_at_a_time_they_share_a_list() -> None:
    """As many as asked one by one before, but within three seconds."""
    async with asking(namespaces=1, hpas=1000) as source:
        many = source.cluster.names[:10]
        for _ in range(3):
            source.cluster.taken()
            for name in many:
                await source.ask("team-0", name)
                source.cluster.now_s += PERIOD_S / len(many)
        assert source.cluster.taken() == {"selected": 10}
        source.cluster.now_s += PERIOD_S
        for _ in range(2):
            for name in many:
                await source.ask("team-0", name)
            source.cluster.now_s += PERIOD_S
        assert source.cluster.taken() == {"namespace": 2}


@pytest.mark.parametrize(("pods", "lists"), [(1_000, 5), (30_000, 5), (37_500, 4), (50_000, 3), (100_000, 3)])
async def test_the_more_pods_a_namespace_has_the_longer_its_list_serves(pods: int, lists: int) -> None:
    """Ten thousand a second are listed, but no answer serves for more than a third of the period."""
    async with asking(namespaces=1, hpas=1_000, pods_each=1) as source:
        cluster = source.cluster
        cluster.pods_counted = pods
        for _ in range(3):
            cluster.taken()
            for name in cluster.names:
                await source.ask("team-0", name)
                cluster.now_s += PERIOD_S / len(cluster.names)
        assert cluster.taken() == {"namespace": lists}


async def test_what_is_asked_alone_fails_alone() -> None:
    async with asking(namespaces=1, hpas=500) as source:
        await source.ask("team-0", "web-0")
        source.cluster.now_s += PERIOD_S
        source.cluster.refusals["selected"] = answer(b'{"message":"not you"}', status="503 Service Unavailable")
        reading = await source.ask("team-0", "web-0")
        assert isinstance(reading, ReadFailure)
        assert "not you" in reading.message
        assert used(await source.ask("team-0", "web-1")) == [("web-1-0", 100), ("web-1-1", 100)]


def test_who_is_late_is_expected_and_who_has_gone_is_forgotten() -> None:
    expected = Expected(PERIOD_S)
    expected.answered("shop", "app=web", 0.0)
    expected.answered("shop", "app=gone", 0.0)
    for period in range(1, 5):
        late_s = period * 1.4 * PERIOD_S
        assert expected.expects("shop", "app=web")
        expected.answered("shop", "app=web", late_s)
    assert not expected.expects("shop", "app=gone")
    expected.answered("news", "app=web", 10 * PERIOD_S)
    assert expected.namespaces() == ["news"]


def test_what_lists_are_worth() -> None:
    lists = lists_per_period(PERIOD_S, fresh_s(PERIOD_S))
    # Ten thousand HPAs of ten pods each: in namespaces of one, two, three and a hundred.
    cheaper = [lists_worth(100_000, 10_000 // size, 100_000) > lists for size in (1, 2, 3, 100)]
    assert cheaper == [True, True, True, False]
    assert lists_worth(100_000, 100, 1_000) < lists, "a large cluster with few HPAs"
    assert lists_worth(1, 1, 1) < lists_per_period(0, 0)


@pytest.mark.parametrize(("worth", "expected_s"), [(5.1, 3.0), (6.25, 3.0), (12.5, 1.5), (25, 0.75), (1000, 0.25)])
def test_four_fifths_of_what_lists_may_cost_make_them_fresher(worth: float, expected_s: float) -> None:
    assert fresher_s(PERIOD_S, fresh_s(PERIOD_S), lists_spent(worth, 10_000)) == pytest.approx(expected_s)


@pytest.mark.parametrize(("asking", "expected_s"), [(10, 3.0), (50, 1.667), (100, 0.833), (200, 0.417), (400, 0.25)])
def test_few_who_ask_have_few_lists_however_cheap_they_are(asking: int, expected_s: float) -> None:
    assert fresher_s(PERIOD_S, fresh_s(PERIOD_S), lists_spent(1000, asking)) == pytest.approx(expected_s, abs=0.001)


@pytest.mark.parametrize(("pods_each", "serves_s"), [(4, 1.389), (8, 1.968), (12, 2.567), (16, 3.0)])
async def test_the_smaller_the_cluster_the_fresher_its_lists(pods_each: int, serves_s: float) -> None:
    async with asking(pods_each=pods_each) as source:
        await source.round()
        await source.ask("team-0", "web-0")
        source.cluster.taken()
        source.cluster.now_s += serves_s - 0.02
        await source.ask("team-1", "web-0")
        assert source.cluster.taken() == {}
        source.cluster.now_s += 0.04
        await source.ask("team-2", "web-0")
        assert source.cluster.taken() == {"cluster": 1}


async def asked_within(source: Asking, asking_s: float) -> Counter[str]:
    """What is asked for in a period in whose first seconds each namespace asks once, one after the other."""
    cluster, began_s = source.cluster, source.cluster.now_s
    cluster.taken()
    for number, namespace in enumerate(cluster.namespaces):
        cluster.now_s = began_s + number * asking_s / len(cluster.namespaces)
        await source.ask(namespace, "web-0")
    cluster.now_s = began_s + PERIOD_S
    return cluster.taken()


@pytest.mark.parametrize(("asking_s", "lists"), [(PERIOD_S, 5), (12.0, 5), (6.0, 5), (3.0, 5), (1.5, 5), (0.9, 4)])
async def test_those_who_ask_together_have_fresher_lists(asking_s: float, lists: int) -> None:
    """And no more of them in all than those who ask all through the period."""
    async with asking(pods_each=16) as source:
        for _ in range(4):
            await source.round()
        *_, last = [await asked_within(source, asking_s) for _ in range(10)]
        assert last == {"cluster": lists}, "nobody is unexpected, however the time that a list serves changes"
        *_, last = [await asked_within(source, PERIOD_S) for _ in range(10)]
        assert last == {"cluster": 5}


async def test_after_a_pause_nobody_is_taken_for_asking_seldom() -> None:
    async with asking(pods_each=16) as source:
        for _ in range(4):
            await source.round()
        await asked_within(source, PERIOD_S)
        source.cluster.refusals["cluster"] = answer(b"{}", status="503 Service Unavailable")
        for _ in range(7):
            await source.round()
        source.cluster.refusals.clear()
        counts = [(await asked_within(source, PERIOD_S))["cluster"] for _ in range(6)]
        assert max(counts) == 5


async def test_a_list_of_the_cluster_that_leaves_namespaces_out_serves_nobody() -> None:
    """Whose an item is could not be said, and all would seem to have no metrics."""
    async with asking() as source:
        first = await source.round()
        source.cluster.namespaced = False
        source.cluster.taken()
        with capture_logs() as logs:
            assert await source.round() == first
        assert source.cluster.taken() == {"cluster": 1, "namespace": 30}
        (warning,) = [line["error"] for line in logs if line["log_level"] == "warning"]
        assert warning == "an item has no namespace - at `$.metadata.namespace`"


async def test_credentials_that_are_refused_once_do_not_end_lists_of_the_cluster_for_good() -> None:
    """A token that has expired is replaced; a right that is missing stays so."""
    async with asking() as source:
        first = await source.round()
        source.cluster.refusals["cluster"] = answer(b'{"message":"no"}', status="401 Unauthorized")
        assert await source.round() == first
        source.cluster.refusals.clear()
        for _ in range(8):
            await source.round()
        source.cluster.taken()
        await source.round()
        assert source.cluster.taken() == {"cluster": 1}


async def test_one_namespace_without_labels_says_nothing_about_the_others() -> None:
    async with asking() as source:
        source.cluster.unlabelled = {"team-7"}
        first = await source.round()
        for _ in range(3):
            source.cluster.taken()
            assert await source.round() == first
            assert source.cluster.taken() == {"cluster": 1, "selected": 2}


async def test_of_namespaces_without_pods_the_list_of_the_cluster_tells_as_well() -> None:
    async with asking() as source:
        await source.round()
        source.cluster.namespaces.remove("team-7")
        source.cluster.taken()
        assert used(await source.ask("team-7", "web-0")) == []
        assert source.cluster.taken() == {"cluster": 1}


def test_a_list_of_the_cluster_is_a_request_too() -> None:
    assert lists_worth(100, 6, 100) < 5 < lists_worth(100, 8, 100)


def test_an_answer_serves_two_seconds_longer_at_most() -> None:
    assert [meanwhile_s(period_s) for period_s in (10, 60, 600)] == pytest.approx([1.3, 2.0, 2.0])
