"""What one list says about usage, and what the next one keeps of it (§8.3, §18.1)."""

import asyncio
from collections.abc import Mapping

import msgspec
import pytest

from controller.decide import selectors
from controller.ports import ResourceQuestion
from controller.sources.expected import Expected
from controller.sources.pod_usage import DECODED_PER_ITERATION, TEXT_BYTES_MAX, UsageGroup, Usages, usages_in
from controller.sources.resource import ResourceMetrics
from controller.wire.errors import WireError
from controller.wire.slices import ARRAY
from tests.adapters.parts import connected_to
from tests.adapters.raw_server import answer, serving
from tests.sources.pod_metrics import PERIOD_S, Cluster, used
from tests.spine.tasks import LoopIterations

ITEM = msgspec.Raw(msgspec.json.encode(Cluster(1, 1, 1).items("team-0")[0]))


def listed(usages: Usages, *pods: tuple[str, Mapping[str, str]]) -> Usages:
    """Usages that have these pods, by name and labels."""
    usages.add(
        (
            msgspec.json.encode(labels),
            msgspec.Raw(msgspec.json.encode({"metadata": {"name": name, "labels": labels}})),
        )
        for name, labels in pods
    )
    return usages


def group_of(pods: int) -> UsageGroup:
    """Pods that are all the same."""
    usages = Usages()
    usages.add((b"{}", ITEM) for _ in range(pods))
    (group,) = usages.all()
    return group


async def found(usages: Usages, selector: str) -> list[str]:
    return [usage.pod for usage in await usages_in(usages.selected(selectors.parse(selector)))]


@pytest.mark.parametrize("pods_each", [1, 3 * DECODED_PER_ITERATION], ids=["labels of their own", "the same labels"])
async def test_many_pods_are_decoded_in_several_turns_of_the_loop(pods_each: int) -> None:
    """Each pod of a StatefulSet has labels of its own."""
    groups = [group_of(pods_each) for _ in range(3 * DECODED_PER_ITERATION // pods_each)]
    iterations = LoopIterations()
    usages = await usages_in(groups)
    await iterations.stop()
    assert [usage.pod for usage in usages] == ["web-0-0"] * (3 * DECODED_PER_ITERATION)
    assert iterations.number == 2


async def test_the_loop_runs_between_groups_that_cannot_be_decoded() -> None:
    groups = list[UsageGroup]()
    for _ in range(30):
        usages = Usages()
        usages.add([(b"{}", ITEM)] * 99 + [(b"{}", msgspec.Raw(b'{"metadata":{"name":"web-0"},"timestamp":"noon"}'))])
        groups += usages.all()
    iterations = LoopIterations()
    with pytest.raises(WireError, match="noon"):
        await usages_in(groups)
    await iterations.stop()
    assert iterations.number >= len(groups) - 1


async def test_of_several_malformed_items_the_same_one_is_named_whatever_the_order() -> None:
    usages = Usages()
    for name in ("web-1", "web-0"):
        item = {"metadata": {"name": name}, "timestamp": "noon"}
        usages.add([(msgspec.json.encode({"pod": name}), msgspec.Raw(msgspec.json.encode(item)))])
    groups = list(usages.all())
    for order in (groups, groups[::-1]):
        with pytest.raises(WireError, match="metrics of pod web-0: 'noon'"):
            await usages_in(order)


def test_a_large_group_is_taken_apart_a_little_at_a_time() -> None:
    group = group_of(10 * DECODED_PER_ITERATION)
    parts = [len(ARRAY.decode(text)) for text in group.texts()]
    assert sum(parts) == 10 * DECODED_PER_ITERATION
    assert max(parts) * len(bytes(ITEM)) <= TEXT_BYTES_MAX + 2 * len(bytes(ITEM))
    assert len(list(group_of(3).texts())) == 1


async def test_two_who_ask_at_once_have_all_of_it() -> None:
    groups = [group_of(2 * DECODED_PER_ITERATION + 1)]
    first, second = await asyncio.gather(usages_in(groups), usages_in(groups))
    assert first == second == await usages_in(groups)
    assert len(first) == 2 * DECODED_PER_ITERATION + 1


async def test_pods_are_in_the_order_of_their_names_whatever_labels_they_have() -> None:
    """Those that have the same labels are kept together."""
    items = [
        Cluster(1, 1, 1).items("shop")[0] | {"metadata": {"name": f"web-{number}", "labels": {"app": "web", **more}}}
        for number, more in enumerate(({"tier": "a"}, {"tier": "b"}, {"tier": "a"}, {"tier": "b"}))
    ]
    listed_out_of_order = msgspec.json.encode({"items": items[::-1]})
    async with serving(answer(listed_out_of_order)) as server, connected_to(server.url) as client:
        source = ResourceMetrics(client, lambda: 0.0, 1.0, Expected(PERIOD_S), period_s=PERIOD_S)
        reading = await source.read(ResourceQuestion("shop", selectors.parse("app=web")))
        assert [pod for pod, _ in used(reading)] == ["web-0", "web-1", "web-2", "web-3"]


@pytest.mark.parametrize("first", [{"app": "web"}, {}], ids=["labels first", "none first"])
def test_one_pod_with_labels_is_enough_to_know_that_there_are_labels(first: dict[str, str]) -> None:
    assert listed(Usages(), ("a", first), ("b", {} if first else {"app": "web"})).labelled
    assert not listed(Usages(), ("a", {})).labelled


async def test_the_next_list_has_its_own_pods_only() -> None:
    first = listed(Usages(), ("a", {"app": "web"}), ("b", {"app": "shop"}))
    second = listed(first.successor(), ("c", {"app": "web"}), ("d", {"app": "bank"}))
    for app, names in (("web", ["c"]), ("shop", []), ("bank", ["d"])):
        assert await found(second, f"app={app}") == names
    assert [await found(first, f"app={app}") for app in ("web", "shop", "bank")] == [["a"], ["b"], []]
    assert await found(second, "app!=web") == ["d"]


async def test_labels_are_the_same_in_whatever_order_they_are_written() -> None:
    usages = listed(Usages(), ("a", {"app": "web", "tier": "x"}), ("b", {"tier": "x", "app": "web"}))
    assert await found(usages, "app=web") == ["a", "b"]
    assert await found(listed(usages.successor(), ("c", {"tier": "x", "app": "web"})), "tier=x") == ["c"]


def test_what_the_next_list_says_about_labels_is_its_own() -> None:
    """An API that leaves labels out from now on is noticed."""
    first = listed(Usages(), ("a", {"app": "web"}))
    assert not first.successor().labelled
    assert not listed(first.successor(), ("a", {})).labelled
    assert listed(first.successor(), ("a", {"app": "web"})).labelled


def test_labels_of_pods_that_have_gone_do_not_pile_up() -> None:
    usages, pieces = Usages(), []
    for number in range(100):
        usages = listed(usages.successor(), *((f"{number}-{one}", {"run": f"{number}-{one}"}) for one in range(10)))
        pieces.append(len(usages.pieces()))
    assert pieces[0] < max(pieces[:10]) == max(pieces[90:])


def test_labels_that_are_handed_on_are_freed_with_the_last_list() -> None:
    first = listed(Usages(), ("a", {"app": "web"}))
    alone = len(first.pieces())
    second = listed(first.successor(), ("a", {"app": "web"}))
    assert len(second.pieces()) == alone
    assert len(first.pieces()) < alone


def test_an_item_does_not_keep_the_text_that_it_came_with() -> None:
    text = bytearray(msgspec.json.encode([Cluster(1, 1, 1).items("team-0")[0]] * 2))
    items = msgspec.json.decode(text, type=list[msgspec.Raw])
    usages = Usages()
    usages.add([(b"{}", items[0])])
    with pytest.raises(BufferError):
        text.append(0)
    del items
    text.append(0)
    assert [[ARRAY.decode(text) for text in group.texts()] for group in usages.all()] == [[[ITEM]]]


def test_labels_that_are_none_are_refused_and_not_remembered() -> None:
    usages = Usages()
    for _ in range(2):
        with pytest.raises(WireError, match=r"metadata\.labels"):
            usages.add([(b'{"app":1}', ITEM)])
    assert not usages
