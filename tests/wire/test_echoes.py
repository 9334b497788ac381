"""What comes back of what was sent."""

import msgspec
import pytest
from hypothesis import given

from controller.decide.instants import NANOSECONDS, ZERO_TIME_NS
from controller.decide.status import Condition, Status
from controller.wire.autoscalers import status_from
from controller.wire.echoes import Echoes
from controller.wire.status import status_to
from tests.wire.test_statuses import STATUSES


@given(STATUSES)
def test_it_says_what_decoding_would_say(value: Status) -> None:
    encoded, echoes = msgspec.json.encode(status_to(value)), Echoes()
    echoes.expect(encoded, value)
    escaped = encoded.replace(b"&", rb"\u0026")
    assert echoes.heard(escaped) == status_from(msgspec.json.decode(escaped)) == value


def test_it_is_known_as_go_writes_it() -> None:
    echoes, sent = Echoes(), Status(replicas_desired=3)
    echoes.expect(b'"a & b < c > d"', sent)
    assert echoes.heard(rb'"a \u0026 b \u003c c \u003e d"') == sent


def condition(since_ns: int) -> Condition:
    return Condition("AbleToScale", "True", "a", "b", since_ns)


@pytest.mark.parametrize(
    ("status", "comes_back"),
    [
        (Status(last_scale_ns=NANOSECONDS, conditions=(condition(0), condition(NANOSECONDS))), True),
        (Status(conditions=(condition(ZERO_TIME_NS),)), True),
        (Status(last_scale_ns=NANOSECONDS + 1), False),
        (Status(conditions=(condition(0), condition(1))), False),
    ],
)
def test_what_has_a_fraction_of_a_second_does_not_come_back_as_it_is(status: Status, *, comes_back: bool) -> None:
    echoes = Echoes()
    echoes.expect(b"it", status)
    assert echoes.heard(b"it") == (status if comes_back else None)


def test_the_latest_ones_are_remembered() -> None:
    echoes = Echoes(2)
    for number in (0, 1, 0, 2):
        echoes.expect(b"%d" % number, Status(number))
    assert [echoes.heard(b"%d" % number) for number in range(3)] == [Status(0), None, Status(2)]
