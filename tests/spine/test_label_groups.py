"""Groups are found by selector as by looking at all of them, and without looking at all of them."""

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from controller.decide import selectors
from controller.label_groups import LabelGroups

LABELS = st.dictionaries(st.sampled_from("abc"), st.sampled_from("xyz"))
TEXTS = st.lists(
    st.sampled_from(["a=x", "a!=x", "b in (x,y)", "b notin (x)", "c", "!c", "c=z", "a in (x,y,z)"]), max_size=3
).map(",".join)


class Kept:
    """A group that counts how often its labels are looked at."""

    def __init__(self, labels: Mapping[str, str]) -> None:
        self._labels = labels
        self.looks = 0

    @property
    def labels(self) -> Mapping[str, str]:
        self.looks += 1
        return self._labels


def groups_of(*many: Mapping[str, str]) -> tuple[LabelGroups[Kept], list[Kept]]:
    made: list[Kept] = []

    def make(labels: Mapping[str, str]) -> Kept:
        made.append(Kept(labels))
        return made[-1]

    groups = LabelGroups(make)
    for labels in many:
        assert groups.of(labels) is groups.of(dict(reversed(list(labels.items()))))
    return groups, made


@given(st.lists(LABELS), TEXTS, st.data())
def test_those_are_found_that_the_selector_matches(many: list[dict[str, str]], text: str, data: st.DataObject) -> None:
    groups, made = groups_of(*many)
    for gone in data.draw(st.lists(st.sampled_from(made), unique=True)) if made else []:
        groups.remove(gone)
        made.remove(gone)
    selector = selectors.parse(text)
    assert set(groups.matching(selector)) == {one for one in made if selector.matches(one.labels)}
    assert (len(groups), set(groups)) == (len(made), set(made))


def test_what_has_another_label_is_not_looked_at() -> None:
    groups, made = groups_of(*({"app": f"web-{number}", "tier": "front"} for number in range(1000)))
    before = sum(one.looks for one in made)
    (found,) = groups.matching(selectors.parse("app=web-7,tier=front"))
    assert found is made[7]
    assert sum(one.looks for one in made) - before == 1
