"""Operators say what is written: obeyed at once, frozen where it is not known, loud while it lasts."""

import asyncio
from typing import Any

import pytest
from structlog.testing import capture_logs

from controller.kube.list_watch import decode_modes
from controller.modes import MODES, REMINDED_EVERY_S, Modes, Orders, parse
from tests.spine.foreign import overloaded
from tests.spine.objects import list_anew
from tests.spine.stage import Stage
from tests.spine.world import conflict


@pytest.mark.parametrize(
    ("data", "shop", "bank"),
    [
        ({}, "write", "write"),
        ({"mode": "shadow"}, "shadow", "shadow"),
        ({"mode": "shadow", "mode.shop": "write"}, "write", "shadow"),
        ({"mode.shop": "freeze"}, "freeze", "write"),
        ({"mode": "freeze", "mode.shop": "write"}, "freeze", "freeze"),
        ({"mode": " write\n", "mode.bank": "shadow", "another": "thing"}, "write", "shadow"),
        ({"mode": "wirte"}, "freeze", "freeze"),
        ({"mode": ""}, "freeze", "freeze"),
        ({"mode.shop": "WRITE"}, "freeze", "write"),
    ],
)
def test_what_holds_in_a_namespace(data: dict[str, str], shop: str, bank: str) -> None:
    modes = parse(data)
    assert (modes.of("shop"), modes.of("bank")) == (shop, bank)
    assert bool(modes.problems) == any(
        text.strip() not in MODES for key, text in data.items() if key.startswith("mode")
    )


def test_a_mode_of_nobody_is_a_problem_and_lifts_no_freeze() -> None:
    """As an empty variable of a script makes it: `mode.`."""
    for data in ({"mode": "freeze", "mode.": "write"}, {"mode.": "write", "mode": "freeze"}, {"mode.": "write"}):
        modes = parse(data)
        assert modes.problems == {"": "mode.: no namespace follows the dot"}
    assert parse({"mode": "freeze", "mode.": "write"}).of("shop") == "freeze"


@pytest.mark.parametrize("name", ["Shop", "shop.", "shop/web", "a b"])
def test_a_mode_of_what_can_be_no_namespace_freezes_everything(name: str) -> None:
    """A brake must not look pulled where it is not."""
    for data in ({f"mode.{name}": "freeze", "mode": "write"}, {"mode": "write", f"mode.{name}": "write"}):
        modes = parse(data)
        assert modes.problems == {"": f"mode.{name}: {name!r} is no name of a namespace"}
        assert modes.of("shop") == "freeze"
        assert modes.frozen == ("all namespaces",)


def ordered(stage: Stage, **data: str) -> None:
    stage.orders.put(parse({key.replace("_", "."): text for key, text in data.items()}))


@pytest.mark.looptime
@pytest.mark.parametrize(("order", "reason"), [("freeze", "frozen"), ("shadow", "shadow")])
async def test_a_freeze_stops_writes_and_a_promotion_lets_them_go_on(order: str, reason: str) -> None:
    stage = overloaded()
    ordered(stage, mode_shop=order)
    await stage.sync()
    await stage.syncs(2)
    assert stage.taken_lines() == []
    withheld = stage.seen[-1].withheld
    assert withheld is not None
    assert withheld.reason == reason
    assert "promote" in withheld.message
    ordered(stage, mode="write")
    await stage.syncs(1)
    assert stage.taken_lines() == ["scale 4", "event SuccessfulRescale", "status 2→4"]


@pytest.mark.looptime
async def test_a_freeze_stops_a_write_that_has_been_decided() -> None:
    stage = overloaded()
    await stage.sync()
    stage.scales.cache("shop", "web")
    stage.uses(400, 400, 400, 400)
    stage.taken_lines()
    # The first attempt is refused, and the order comes before the second.
    stage.scales.write_faults.append(conflict())
    stage.scales.while_reading.append(lambda: ordered(stage, mode="freeze"))
    await stage.syncs(1)
    assert stage.taken_lines() == []


@pytest.mark.looptime
async def test_other_namespaces_are_not_concerned() -> None:
    stage = overloaded()
    ordered(stage, mode_bank="freeze")
    await stage.sync()
    assert stage.scales.replicas("shop", "web") == 4


def test_nothing_is_written_before_the_orders_are_known() -> None:
    orders = Orders(None)
    assert orders.withheld("shop") is not None
    assert orders.lines()[0].startswith("[!]modes: ")
    list_anew(orders, [])
    assert orders.withheld("shop") is None


def test_a_deleted_configmap_means_write() -> None:
    orders = Orders(None)
    frozen = parse({"mode": "freeze"})
    list_anew(orders, [frozen])
    assert orders.withheld("shop") is not None
    orders.remove("kube-system/modes")
    assert orders.withheld("shop") is None
    list_anew(orders, [frozen])
    list_anew(orders, [])
    assert orders.withheld("shop") is None, "deleted while the watch was down"


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        ({}, []),
        (
            {"mode": "freeze"},
            ["[!]frozen: all namespaces; `hpa-controller promote --all` makes the controller write again"],
        ),
        (
            {"mode.a": "freeze", "mode.b": "shadow"},
            ["[!]frozen: a; `hpa-controller promote NAMESPACE` makes the controller write again", "[i]shadow: b"],
        ),
        ({"mode": "shadow"}, ["[i]shadow: all namespaces"]),
    ],
)
def test_whoever_asks_is_told(data: dict[str, str], lines: list[str]) -> None:
    assert Orders(parse(data)).lines() == lines


def test_a_word_that_is_no_mode_is_named() -> None:
    orders = Orders(None)
    with capture_logs() as logs:
        orders.put(parse({"mode.shop": "freez"}))
    assert any("mode.shop: 'freez' is none of write, shadow, freeze" in line.get("problem", "") for line in logs)
    assert "mode.shop" in orders.lines()[0]
    withheld = orders.withheld("shop")
    assert withheld is not None
    assert "no mode" in withheld.message


def test_a_word_that_is_no_mode_says_nothing_about_other_namespaces() -> None:
    orders = Orders(parse({"mode.shop": "freeze", "mode.bank": "frozn"}))
    shop, bank = orders.withheld("shop"), orders.withheld("bank")
    assert shop is not None
    assert "promote NAMESPACE" in shop.message
    assert bank is not None
    assert "no mode" in bank.message


def test_a_configmap_that_is_malformed_freezes_everything() -> None:
    modes, version = decode_modes(b'{"metadata": {"name": "modes", "resourceVersion": "7"}, "data": {"mode": null}}')
    assert (modes.of("shop"), version) == ("freeze", "7")
    withheld = Orders(modes).withheld("shop")
    assert withheld is not None
    assert "no mode" in withheld.message


@pytest.mark.looptime
async def test_it_is_loud_while_it_lasts_and_only_then() -> None:
    orders = Orders(Modes())
    loud: list[Any] = []
    with capture_logs() as logs:
        task = asyncio.create_task(orders.remind())
        await asyncio.sleep(2.5 * REMINDED_EVERY_S)
        assert logs == []
        orders.put(parse({"mode.shop": "freeze"}))
        await asyncio.sleep(2 * REMINDED_EVERY_S)
        loud = [line for line in logs if line["event"].startswith("frozen")]
        task.cancel()
        await asyncio.wait([task])
    assert len(loud) == 3, "at once, and each minute"
    assert {line["log_level"] for line in loud} == {"warning"}
    assert loud[0]["namespaces"] == ["shop"]
