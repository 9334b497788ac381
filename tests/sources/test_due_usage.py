"""Usage of pods of a large namespace: of those whose HPAs are due next, where that costs less."""

import asyncio
import itertools

import pytest
from structlog.testing import capture_logs

from controller.decide.observed import ReadFailure
from tests.adapters.raw_server import answer
from tests.sources.pod_metrics import PERIOD_S, Asking, asking, used

NAMESPACE = "team-0"


async def spread(source: Asking, periods: int = 1, selector: str = "app={},tier=web") -> int:
    """Every HPA asks once a period, one after another; how often anybody asked."""
    cluster, asked = source.cluster, 0
    for _, name in itertools.product(range(periods), cluster.names):
        readings = used(await source.ask(NAMESPACE, name, selector))
        assert readings == [(f"{name}-{number}", cluster.milli) for number in range(cluster.pods_each)]
        cluster.now_s += PERIOD_S / len(cluster.names)
        asked += 1
    return asked


async def test_each_pod_is_listed_about_once_a_period() -> None:
    async with asking(namespaces=1, hpas=600) as source:
        await spread(source)
        assert set(source.cluster.taken()) == {"namespace"}, "nobody was known yet"
        source.cluster.items_sent = 0
        asked = await spread(source, 3)
        taken = source.cluster.taken()
        assert set(taken) == {"selected"}
        assert taken["selected"] / asked <= 0.02
        assert source.cluster.items_sent <= 1.3 * 3 * len(source.cluster)


async def test_no_answer_is_older_than_three_seconds_and_every_sync_sees_a_newer_one() -> None:
    async with asking(namespaces=1, hpas=300) as source:
        cluster = source.cluster
        for _, name in itertools.product(range(4), cluster.names):
            cluster.milli = round(cluster.now_s * 1000)
            [milli] = {value for _, value in used(await source.ask(NAMESPACE, name))}
            assert milli >= cluster.milli - 3_000
            cluster.now_s += PERIOD_S / len(cluster.names)
        assert cluster.taken()["selected"] > 3


async def test_nobody_waits_for_a_request_once_all_are_known() -> None:
    """The next one is under way before it is needed."""
    async with asking(namespaces=1, hpas=300) as source:
        await spread(source, 2)
        for name in source.cluster.names:
            source.cluster.taken()
            await source.ask(NAMESPACE, name)
            assert [target for target in source.cluster.asked if f"{name}%2C" in target] == []
            source.cluster.now_s += PERIOD_S / len(source.cluster.names)
            await asyncio.sleep(0.005)


async def test_whoever_asks_together_is_answered_by_one_list() -> None:
    async with asking(namespaces=1, hpas=600) as source:
        for _ in range(3):
            await source.round()
            assert source.cluster.taken() == {"namespace": 1}


async def test_one_hpa_among_the_pods_of_others_has_only_its_own_listed() -> None:
    async with asking(namespaces=1, hpas=300) as source:
        await source.ask(NAMESPACE, "web-7")
        assert source.cluster.taken() == {"namespace": 1}
        source.cluster.items_sent = 0
        for _ in range(3):
            source.cluster.now_s += PERIOD_S
            assert used(await source.ask(NAMESPACE, "web-7")) == [("web-7-0", 100), ("web-7-1", 100)]
        assert source.cluster.taken() == {"selected": 3}
        assert source.cluster.items_sent == 3 * 2


async def test_no_request_is_longer_than_whatever_stands_before_an_api_server_takes() -> None:
    async with asking(namespaces=1, hpas=900, pods_each=1) as source:
        source.cluster.names = [f"{name}-{'x' * 50}" for name in source.cluster.names]
        await spread(source)
        source.cluster.taken()
        await spread(source)
        targets = source.cluster.asked
        assert "selected" in source.cluster.taken()
        assert 4_000 < max(map(len, targets)) <= 6_200


@pytest.mark.parametrize("status", ["400 Bad Request", "414 URI Too Long", "503 Service Unavailable"])
async def test_where_some_cannot_be_listed_all_are_and_nobody_notices(status: str) -> None:
    async with asking(namespaces=1, hpas=300) as source:
        source.cluster.refusals["selected"] = answer(b'{"message":"no"}', status=status)
        await spread(source)
        with capture_logs() as logs:
            source.cluster.taken()
            await spread(source, 3)
            assert source.cluster.taken()["selected"] == 1
        warnings = [line["how_long"] for line in logs if line["log_level"] == "warning"]
        assert warnings == ["120 s"], "said once, not by everybody who waited"
        source.cluster.refusals.clear()
        await spread(source, 9)
        assert source.cluster.taken()["selected"] > 1


async def test_an_api_without_labels_is_not_asked_about_several_again() -> None:
    async with asking(namespaces=1, hpas=200, pods_each=5) as source:
        await spread(source, 2)
        source.cluster.taken()
        source.cluster.labels = False
        with capture_logs() as logs:
            await spread(source)
            batches = [target for target in source.cluster.asked if "+in+" in target]
        assert len(batches) == 1
        assert [line["how_long"] for line in logs if line["log_level"] == "warning"] == ["from now on"]


@pytest.mark.parametrize("selector", ["app={},tier=web", "app in ({})", "tier,app=={}", "tier notin (db),app={}"])
async def test_hpas_are_told_apart_by_whatever_label_does_it(selector: str) -> None:
    async with asking(namespaces=1, hpas=300) as source:
        await spread(source, selector=selector)
        source.cluster.taken()
        await spread(source, selector=selector)
        assert all("labelSelector=app+in+" in target for target in source.cluster.asked)


async def test_whom_no_label_tells_apart_gets_the_list_of_the_namespace() -> None:
    async with asking(namespaces=1, hpas=300) as source:
        for _ in range(2):
            await spread(source)
            source.cluster.taken()
            assert len(used(await source.ask(NAMESPACE, "", "tier"))) == len(source.cluster)
        assert source.cluster.taken() == {"namespace": 1}


async def test_a_malformed_item_harms_only_those_whose_pod_it_is() -> None:
    async with asking(namespaces=1, hpas=300) as source:
        await spread(source)
        source.cluster.spoiled = {"web-0"}
        source.cluster.taken()
        assert isinstance(await source.ask(NAMESPACE, "web-0"), ReadFailure)
        assert used(await source.ask(NAMESPACE, "web-1")) == [("web-1-0", 100), ("web-1-1", 100)]
        assert source.cluster.taken()["selected"] == 1
