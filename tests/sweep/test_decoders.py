"""Damage through every decoder, lint and replay: a result or one short line with a place, and work in proportion."""

import functools
from random import Random

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.kube.framing import Lines
from tests.sweep import corpus
from tests.sweep.damage import DEPTH, encoded, slots, spoiled
from tests.sweep.decoders import CALLS_FREE, CALLS_PER_BYTE_MAX, Tally, calls_of, generated, run, sweep
from tests.sweep.judgement import MESSAGE_CHARACTERS_MAX, complaint
from tests.sweep.surfaces import Said, Surface, surfaces
from tests.wire.lists import all_pod_metrics, each_pod_metrics

SEED = 20260131
SURFACES = {surface.name: surface for surface in surfaces()}
every_surface = pytest.mark.parametrize("surface", SURFACES.values(), ids=SURFACES)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=8,
)


def test_tens_of_thousands() -> None:
    tallies = run(SEED, 28_000)
    assert [line for tally in tallies for line in tally.failures] == []
    assert all(tally.refused > 100 or tally.name == "error answer" for tally in tallies)
    assert all(tally.taken > 50 for tally in tallies), "damage that is always refused finds nothing behind the parser"


@pytest.mark.parametrize("name", sorted(SURFACES.keys() - {"lint", "error answer"}))
def test_sound_documents_are_taken(name: str) -> None:
    """Not those of lint: its manifests are users' own, errors and all; tests/manifest has what is found in them."""
    surface = SURFACES[name]
    # An HPA of version 1 among those of version 2 is sound as far as both agree.
    assert [surface.read(document).messages for document in surface.documents] == [()] * len(surface.documents)


@every_surface
def test_cut_off_at_every_position(surface: Surface) -> None:
    document = min(surface.documents, key=len)
    step = max(1, len(document) // 400)
    tally = Tally(surface.name)
    sweep(surface, (document[:end] for end in range(0, len(document), step)), tally)
    assert tally.failures == []


@every_surface
def test_bombs(surface: Surface) -> None:
    """In the place of the document, and of each field near its top."""
    bombs = [b"[" * DEPTH, b"[" * DEPTH + b"]" * DEPTH, b'{"a":' * DEPTH + b"1" + b"}" * DEPTH]
    for name in ("metadata", "spec", "status", "items", "object", "hpa", "scale"):
        bombs += [
            b'{"kind":"HorizontalPodAutoscaler","apiVersion":"autoscaling/v2","'
            + name.encode()
            + b'":'
            + bombs[1]
            + b"}"
        ]
    tally = Tally(surface.name)
    sweep(surface, iter(bombs), tally)
    assert tally.failures == []


@every_surface
@settings(max_examples=60)
@given(data=st.data())
def test_any_json_in_any_place(surface: Surface, data: st.DataObject) -> None:
    document = min(surface.documents, key=len)
    lines = document.splitlines() if surface.in_lines else [document]
    at = data.draw(st.integers(0, len(lines) - 1))
    tree = msgspec.json.decode(lines[at])
    places = slots(tree)
    holder, key = places[data.draw(st.integers(0, len(places) - 1))]
    holder[key] = data.draw(JSON)
    lines[at] = encoded(tree)
    assert complaint(surface.read(b"\n".join(lines))) is None


@every_surface
def test_work_is_in_proportion(surface: Surface) -> None:
    """Counted in calls, which no machine changes."""
    for data in generated(surface, Random(SEED), 60):  # noqa: S311 - repeatable on purpose
        calls = calls_of(functools.partial(surface.read, data))
        assert calls < CALLS_FREE + CALLS_PER_BYTE_MAX * len(data), data[:200]


def test_a_damaged_item_harms_only_itself() -> None:
    """metrics.k8s.io: as long as it says whose it is."""
    random = Random(SEED)  # noqa: S311 - repeatable on purpose
    sound = all_pod_metrics(encoded(corpus.pod_metrics(6)))
    for _ in range(500):
        body = corpus.pod_metrics(6)
        damaged = random.randrange(6)
        item = body["items"][damaged]
        containers = spoiled(random, encoded({"containers": item["containers"]}))
        try:
            fields = msgspec.json.decode(containers, type=dict[str, msgspec.Raw])
            body["items"][damaged] = {**fields, "metadata": item["metadata"]}
            msgspec.json.decode(encoded(body))
        except ValueError:
            continue  # no JSON at all: nothing of it can be trusted
        found = each_pod_metrics(encoded(body))
        assert len(found) == len(sound)
        assert [*found[:damaged], *found[damaged + 1 :]] == [*sound[:damaged], *sound[damaged + 1 :]]


@given(st.binary(max_size=200), st.lists(st.integers(1, 20), max_size=30))
def test_framing_does_not_depend_on_the_cuts(stream: bytes, cuts: list[int]) -> None:
    lines, at = Lines(), 0
    found: list[bytes] = []
    for cut in [*cuts, len(stream)]:
        found += lines.feed(stream[at : at + cut])
        at += cut
    whole = stream.split(b"\n")
    assert found == [line for line in whole[:-1] if line.strip()]
    assert lines.rest == whole[-1]


@pytest.mark.parametrize(
    "said",
    [
        Said(taken=False),
        Said(taken=False, messages=("something is wrong",)),
        Said(taken=False, messages=("two\nlines - at `$.spec`",)),
        Said(taken=False, messages=("x" * (MESSAGE_CHARACTERS_MAX + 1) + " - at `$.spec`",)),
        Said(taken=True, messages=("",)),
    ],
)
def test_the_judge_is_no_rubber_stamp(said: Said) -> None:
    assert complaint(said) is not None
