"""What a controller relies on when it lists."""

from tests.contract.api_server import Api
from tests.contract.objects import config_map, config_maps, hpa, hpas


async def test_pages_show_one_state_whatever_is_written_between_them(api: Api, namespace: str) -> None:
    names = [f"item-{index}" for index in range(7)]
    for name in names:
        await api.create(config_maps(namespace), config_map(name))
    first = await api.get(config_maps(namespace), limit=3)
    await api.create(config_maps(namespace), config_map("item-00-late"))
    await api.request("DELETE", config_maps(namespace, "item-5"))
    second = await api.get(config_maps(namespace), limit=3, **{"continue": first["metadata"]["continue"]})
    third = await api.get(config_maps(namespace), limit=3, **{"continue": second["metadata"]["continue"]})
    pages = [first, second, third]
    assert [item["metadata"]["name"] for page in pages for item in page["items"]] == names
    assert len({page["metadata"]["resourceVersion"] for page in pages}) == 1
    assert [page["metadata"].get("remainingItemCount") for page in pages] == [4, 1, None]
    assert not third["metadata"].get("continue")


async def test_a_page_of_selected_objects_does_not_count_the_rest(api: Api, namespace: str) -> None:
    for index in range(4):
        await api.create(config_maps(namespace), config_map(f"item-{index}", parity=str(index % 2)))
    page = await api.get(config_maps(namespace), limit=1, labelSelector="parity=0")
    assert [item["metadata"]["name"] for item in page["items"]] == ["item-0"]
    assert "remainingItemCount" not in page["metadata"]
    assert page["metadata"]["continue"]


async def test_a_list_without_a_version_shows_every_write_that_was_answered(api: Api, namespace: str) -> None:
    for index in range(5):
        created = await api.create(config_maps(namespace), config_map(f"item-{index}"))
        listed = await api.get(config_maps(namespace))
        assert len(listed["items"]) == index + 1
        version = int(listed["metadata"]["resourceVersion"])
        assert version >= int(created["metadata"]["resourceVersion"])


async def test_a_list_not_older_than_a_write_contains_it(api: Api, namespace: str) -> None:
    created = await api.create(config_maps(namespace), config_map("item"))
    listed = await api.get(
        config_maps(namespace),
        resourceVersion=created["metadata"]["resourceVersion"],
        resourceVersionMatch="NotOlderThan",
    )
    assert [item["metadata"]["name"] for item in listed["items"]] == ["item"]


async def test_a_list_at_an_exact_version_shows_the_past(api: Api, namespace: str) -> None:
    first = await api.create(config_maps(namespace), config_map("first"))
    await api.create(config_maps(namespace), config_map("second"))
    version = first["metadata"]["resourceVersion"]
    listed = await api.get(config_maps(namespace), resourceVersion=version, resourceVersionMatch="Exact")
    assert [item["metadata"]["name"] for item in listed["items"]] == ["first"]
    assert listed["metadata"]["resourceVersion"] == version


async def test_items_of_a_list_of_built_in_objects_carry_no_kind(api: Api, namespace: str) -> None:
    await api.create(hpas(namespace), hpa("web"))
    listed = await api.get(hpas(namespace))
    assert (listed["kind"], listed["apiVersion"]) == ("HorizontalPodAutoscalerList", "autoscaling/v2")
    assert listed["items"]
    for item in listed["items"]:
        assert "kind" not in item
        assert "apiVersion" not in item


async def test_an_empty_list_has_items(api: Api, namespace: str) -> None:
    assert (await api.get(hpas(namespace)))["items"] == []


async def test_version_zero_ignores_the_limit(api: Api, namespace: str) -> None:
    for index in range(3):
        await api.create(config_maps(namespace), config_map(f"item-{index}"))
    version = (await api.get(config_maps(namespace)))["metadata"]["resourceVersion"]
    # The cache that answers version 0 may lag; asking for a version first makes it catch up.
    await api.get(config_maps(namespace), resourceVersion=version, resourceVersionMatch="NotOlderThan")
    listed = await api.get(config_maps(namespace), resourceVersion="0", limit=1)
    assert len(listed["items"]) == 3
    assert not listed["metadata"].get("continue")


async def test_a_version_from_the_future_is_refused_with_a_cause(api: Api, namespace: str) -> None:
    answer = await api.request("GET", config_maps(namespace), parameters={"resourceVersion": 2**53})
    assert (answer.status, answer.body["reason"]) == (504, "Timeout")
    assert answer.body["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge"


async def test_set_based_selectors_select(api: Api, namespace: str) -> None:
    for name, tier in (("a", "web"), ("b", "db"), ("c", "")):
        labels = {"tier": tier} if tier else {}
        await api.create(config_maps(namespace), config_map(name, **labels))
    expected = {
        "tier in (web,db)": ["a", "b"],
        "tier notin (web)": ["b", "c"],
        "tier": ["a", "b"],
        "!tier": ["c"],
        "tier!=db": ["a", "c"],
        "tier=db": ["b"],
        "": ["a", "b", "c"],
    }
    for selector, names in expected.items():
        listed = await api.get(config_maps(namespace), labelSelector=selector)
        assert [item["metadata"]["name"] for item in listed["items"]] == names, selector


async def test_an_unreadable_selector_is_a_bad_request(api: Api, namespace: str) -> None:
    answer = await api.request("GET", config_maps(namespace), parameters={"labelSelector": "a===b"})
    assert (answer.status, answer.body["reason"]) == (400, "BadRequest")
