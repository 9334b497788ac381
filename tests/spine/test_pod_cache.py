"""Pods found by namespace and selector, and HPAs that share pods (§5.3–5.5), against plain models."""

import itertools
from collections.abc import Callable, Iterator, Mapping

from hypothesis import example, given, settings
from hypothesis import strategies as st

from controller.cache import Cache, NamespaceStore
from controller.decide import selectors
from controller.decide.observed import Pod
from controller.decide.selectors import Selector
from controller.pod_cache import SELECTORS_PER_GROUP, PodCache, WatchedPod
from controller.rivals import Rivals
from tests.spine.objects import list_anew, watched_pod

NAMESPACES = ("shop", "bank")
KEYS = ("app", "tier", "canary")
VALUES = ("a", "b", "c")
SELECTORS = (
    "app=a",
    "app=b",
    "app=a,tier=b",
    "app in (a,b)",
    "app in (a,b),tier notin (c)",
    "app!=a",
    "canary",
    "!canary",
    "app notin (a,b),canary=c",
    "tier=a,app in (b,c)",
    "app=a,app=b",
)

labels = st.dictionaries(st.sampled_from(KEYS), st.sampled_from(VALUES), max_size=3)
pods = st.builds(
    lambda namespace, number, labels, phase: watched_pod(f"pod-{number}", labels, namespace=namespace, phase=phase),
    st.sampled_from(NAMESPACES),
    st.integers(0, 7),
    labels,
    st.sampled_from(("Running", "Pending", "Succeeded", "Failed")),
)
changes = st.lists(
    st.tuples(st.just("put"), st.lists(pods, min_size=1, max_size=1))
    | st.tuples(st.just("remove"), st.lists(pods, min_size=1, max_size=1))
    | st.tuples(st.just("replace"), st.lists(pods, max_size=12)),
    max_size=30,
)
hpas = st.tuples(st.sampled_from(NAMESPACES), st.sampled_from(("web", "api", "job")))
registrations = st.lists(
    st.tuples(st.sampled_from(("register", "unregister", "store")), hpas, st.sampled_from(SELECTORS)), max_size=25
)

Known = dict[tuple[str, str], Pod]


def key(item: WatchedPod) -> str:
    return f"{item.namespace}/{item.pod.name}"


def identity(item: WatchedPod) -> tuple[str, str]:
    return item.namespace, item.pod.name


def ignore(cache: PodCache, known: Known) -> None:
    """Look at nothing."""


def played(
    script: list[tuple[str, list[WatchedPod]]], look: Callable[[PodCache, Known], None] = ignore
) -> tuple[PodCache, Known]:
    """A cache after these changes, and what must be in it; `look` is called with both before each of them."""
    cache, known = PodCache(), Known()
    for what, items in script:
        look(cache, known)
        match what:
            case "put":
                cache.put(items[0])
                known[identity(items[0])] = items[0].pod
            case "remove":
                cache.remove(key(items[0]))
                known.pop(identity(items[0]), None)
            case _:
                list_anew(cache, items)
                known = {identity(item): item.pod for item in items}
    return cache, known


@settings(max_examples=150)
@given(changes, st.sampled_from(SELECTORS), st.sampled_from(NAMESPACES))
@example([("put", [watched_pod("pod-0", {"app": value})]) for value in "ab"], "app=a", "shop")
def test_the_pods_found_are_those_that_a_scan_finds_in_name_order(
    script: list[tuple[str, list[WatchedPod]]], selector: str, namespace: str
) -> None:
    parsed = selectors.parse(selector)

    def look(cache: PodCache, known: Known) -> None:
        pods = [pod for (within, _), pod in sorted(known.items()) if within == namespace and parsed.matches(pod.labels)]
        assert list(cache.matching(namespace, parsed)) == pods
        distinct = {frozenset(pod.labels.items()) for pod in pods}
        sets = cache.labels_matching(namespace, parsed)
        assert len(sets) == len(distinct), "each set of labels once"
        assert {frozenset(each.items()) for each in sets} == distinct

    cache, known = played(script, look)
    look(cache, known)
    assert len(cache) == len(known)
    assert all(cache.get(within, name) == pod for (within, name), pod in known.items())


@given(changes)
def test_nothing_remains_of_pods_that_are_gone(script: list[tuple[str, list[WatchedPod]]]) -> None:
    cache, known = played(script)
    for (namespace, _), pod in known.items():
        cache.remove(key(WatchedPod(namespace, pod)))
    assert (len(cache), cache._namespaces) == (0, {})


@settings(max_examples=150)
@given(registrations, changes, hpas)
def test_hpas_share_pods_exactly_if_their_stored_selectors_match_one_of_the_same_pods(
    script: list[tuple[str, tuple[str, str], str]],
    pod_script: list[tuple[str, list[WatchedPod]]],
    asking: tuple[str, str],
) -> None:
    rivals, stored = Rivals(), dict[tuple[str, str], Selector | None]()
    for what, hpa, selector in script:
        match what:
            case "register":
                assert rivals.register(*hpa) == (hpa not in stored)
                stored.setdefault(hpa, None)
            case "unregister":
                rivals.unregister(*hpa)
                stored.pop(hpa, None)
            case _:
                rivals.store(*hpa, selectors.parse(selector))
                if hpa in stored:
                    stored[hpa] = selectors.parse(selector)
    cache, known = played(pod_script)
    namespace = asking[0]
    own = stored.get(asking) or selectors.parse("app=a")
    theirs = [pod.labels for (within, _), pod in known.items() if within == namespace and own.matches(pod.labels)]
    expected = sorted(
        f"{namespace}/{name}"
        for (within, name), selector_of in stored.items()
        if within == namespace and selector_of is not None and any(map(selector_of.matches, theirs))
    )
    assert list(rivals.sharing(namespace, cache.labels_matching(namespace, own))) == expected
    for hpa in list(stored):
        rivals.unregister(*hpa)
    assert rivals._namespaces == {}, "nothing remains of deleted HPAs"


class Counted(Selector, frozen=True):
    """A selector that counts how often it is matched."""

    def matches(self, labels: Mapping[str, str]) -> bool:
        MATCHED.append(self.text)
        return super().matches(labels)


MATCHED: list[str] = []


def counted(text: str) -> Counted:
    parsed = selectors.parse(text)
    return Counted(parsed.requirements, parsed.text)


def test_a_selector_is_matched_once_per_set_of_labels_that_it_may_mean_and_not_once_per_pod() -> None:
    cache = PodCache()
    for app in range(100):
        for number in range(50):
            cache.put(watched_pod(f"app-{app}-{number}", {"app": f"{app}", "tier": "web"}))
    MATCHED.clear()
    assert len(cache.matching("shop", counted("tier=web,app=7"))) == 50
    assert len(MATCHED) == 1, "the rarer of both labels leads to one group"
    MATCHED.clear()
    assert len(cache.matching("shop", counted("app in (1,2,3)"))) == 150
    assert len(MATCHED) == 3


def test_what_a_selector_matches_is_known_until_there_are_other_groups_and_of_few_selectors() -> None:
    cache = PodCache()
    for app in range(3):
        cache.put(watched_pod(f"app-{app}", {"app": f"{app}", "tier": "web"}))
    cache.matching("shop", counted("tier=web"))
    MATCHED.clear()
    cache.matching("shop", counted("tier=web"))
    cache.labels_matching("shop", counted("tier=web"))
    cache.put(watched_pod("app-0-1", {"app": "0", "tier": "web"}))
    assert len(cache.matching("shop", counted("tier=web"))) == 4
    assert not MATCHED
    for number in range(10 * SELECTORS_PER_GROUP):
        cache.matching("shop", counted(f"app=0,tier!=t{number}"))
    assert len(cache._namespaces["shop"]._selected) <= 3 * SELECTORS_PER_GROUP


def test_only_hpas_that_demand_a_label_of_the_pods_are_matched() -> None:
    rivals = Rivals()
    for app in range(1000):
        rivals.register("shop", f"hpa-{app}")
        rivals.store("shop", f"hpa-{app}", counted(f"app={app}"))
    MATCHED.clear()
    assert rivals.sharing("shop", [{"app": "7", "tier": "web"}]) == ("shop/hpa-7",)
    assert MATCHED == ["app=7"]


def test_pods_of_any_phase_count_and_without_pods_nothing_is_shared() -> None:
    rivals, cache = Rivals(), PodCache()
    for name in ("api", "web"):
        rivals.register("shop", name)
        rivals.store("shop", name, selectors.parse("app=web"))
    asked = selectors.parse("app=web")
    assert rivals.sharing("shop", cache.labels_matching("shop", asked)) == ()
    cache.put(watched_pod("done", phase="Succeeded"))
    assert rivals.sharing("shop", cache.labels_matching("shop", asked)) == ("shop/api", "shop/web")


def test_an_hpa_is_no_rival_before_its_own_sync_has_stored_a_selector() -> None:
    rivals = Rivals()
    rivals.register("shop", "api")
    rivals.register("shop", "web")
    rivals.store("shop", "web", selectors.parse("app=web"))
    assert rivals.sharing("shop", [{"app": "web"}]) == ("shop/web",)


def test_one_namespace_is_replaced_alone() -> None:
    cache = PodCache()
    part = NamespaceStore(cache, "shop")
    for namespace in NAMESPACES:
        cache.put(watched_pod("old", namespace=namespace))
    list_anew(part, [watched_pod("new")])
    part.put(watched_pod("newer"))
    assert names_in(cache) == {"shop": ["new", "newer"], "bank": ["old"]}
    part.remove("shop/newer")
    assert names_in(cache) == {"shop": ["new"], "bank": ["old"]}


def names_in(cache: PodCache) -> dict[str, list[str]]:
    everything = selectors.parse("app=web")
    return {within: [pod.name for pod in cache.matching(within, everything)] for within in NAMESPACES}


def test_of_a_list_nothing_is_seen_before_it_is_complete() -> None:
    cache = PodCache()
    for namespace in NAMESPACES:
        cache.put(watched_pod("old", namespace=namespace))
    listing, abandoned = cache.listing(), cache.listing()
    for item in (watched_pod("new"), watched_pod("gone again"), watched_pod("gone again", namespace="bank")):
        listing.put(item)
        abandoned.put(item)
    listing.remove("shop/gone again")
    listing.remove("bank/gone again")
    listing.remove("bank/never there")
    assert names_in(cache) == {"shop": ["old"], "bank": ["old"]}
    listing.complete()
    assert names_in(cache) == {"shop": ["new"], "bank": []}
    assert (len(cache), set(cache._namespaces)) == (1, {"shop"})


def test_nothing_remains_of_a_namespace_whose_list_is_empty() -> None:
    cache = PodCache()
    for namespace in NAMESPACES:
        cache.put(watched_pod("old", namespace=namespace))
    list_anew(NamespaceStore(cache, "shop"), [])
    assert (names_in(cache), set(cache._namespaces)) == ({"shop": [], "bank": ["old"]}, {"bank"})


def test_a_namespace_whose_name_begins_alike_is_another() -> None:
    cache: Cache[WatchedPod] = Cache(key)
    for namespace in ("shop", "shop-2"):
        cache.put(watched_pod("old", namespace=namespace))
    list_anew(NamespaceStore(cache, "shop"), [watched_pod("new")])
    assert {key(item) for item in cache} == {"shop/new", "shop-2/old"}


def test_a_list_of_one_namespace_announces_nothing_of_the_others() -> None:
    announced: list[tuple[str, bool]] = []

    class Observer:
        def changed(self, old: WatchedPod | None, new: WatchedPod | None) -> None:
            known = old or new
            assert known is not None
            announced.append((f"{known.namespace}/{known.pod.name}", new is not None))

    cache: Cache[WatchedPod] = Cache(key)
    for namespace in NAMESPACES:
        cache.put(watched_pod("old", namespace=namespace))
    cache.observe(Observer())
    list_anew(NamespaceStore(cache, "shop"), [watched_pod("new")])
    assert announced == [("shop/old", False), ("shop/new", True)]
    assert {f"{item.namespace}/{item.pod.name}" for item in cache} == {"shop/new", "bank/old"}


def all_labels() -> Iterator[dict[str, str]]:
    for values in itertools.product((None, *VALUES), repeat=len(KEYS)):
        yield {key: value for key, value in zip(KEYS, values, strict=True) if value is not None}


def assert_found(rivals: Rivals, stored: dict[str, str]) -> None:
    """By each set of labels, and by two of them, those are found whose selectors match."""
    parsed = {name: selectors.parse(text) for name, text in stored.items()}
    for one, other in itertools.pairwise(all_labels()):
        for asked in ([one], [one, other]):
            expected = sorted(f"shop/{name}" for name, found in parsed.items() if any(map(found.matches, asked)))
            assert list(rivals.sharing("shop", asked)) == expected, asked


def test_rivals_are_found_by_whatever_selector_while_selectors_change_and_hpas_go() -> None:
    rivals, stored = Rivals(), {f"hpa-{number}": text for number, text in enumerate(SELECTORS)}
    for name, text in stored.items():
        rivals.register("shop", name)
        rivals.store("shop", name, selectors.parse(text))
    assert_found(rivals, stored)
    for number, name in enumerate(list(stored)):
        stored[name] = SELECTORS[(number + 5) % len(SELECTORS)]
        rivals.store("shop", name, selectors.parse(stored[name]))
    assert_found(rivals, stored)
    for name in list(stored):
        rivals.unregister("shop", name)
        del stored[name]
        assert_found(rivals, stored)
    assert rivals._namespaces == {}


def test_of_selectors_that_changed_nothing_is_kept() -> None:
    rivals = Rivals()
    rivals.register("shop", "web")
    for number in range(100):
        rivals.store("shop", "web", selectors.parse(f"app={number}"))
    rivals.store("shop", "web", selectors.parse("!app"))
    rivals.store("shop", "web", selectors.parse("app in (a,b)"))
    within = rivals._namespaces["shop"]
    assert (within.by_label, within.anywhere) == ({("app", "a"): {"web"}, ("app", "b"): {"web"}}, set())
