"""What decoders raise: one kind of error, which says where."""

import msgspec
import pytest

from controller.decide import quantity
from controller.wire.errors import MESSAGE_CHARACTERS_MAX, WireError, each, located, wire_errors


def refuse(error: Exception) -> None:
    raise error


@pytest.mark.parametrize(
    ("raised", "message"),
    [
        (ValueError("bad value"), "bad value"),
        (quantity.QuantityError("no quantity"), "no quantity"),
        (OverflowError("too large"), "too large"),
        (msgspec.ValidationError("wrong type"), "wrong type"),
        (msgspec.ValidationError("wrong type - at `$.spec.x[0]`"), "wrong type - at `$.spec.x[0]`"),
        (msgspec.DecodeError("no JSON"), "no JSON"),
        (RecursionError("deep"), "nested too deeply"),
        (WireError("known", "spec.metrics[0]"), "known - at `$.spec.metrics[0]`"),
    ],
)
def test_bad_input_is_a_wire_error(raised: Exception, message: str) -> None:
    with pytest.raises(WireError) as found:
        wire_errors(refuse)(raised)
    assert str(found.value) == message


def test_a_place_that_a_library_tells_is_kept_apart() -> None:
    def outer(error: Exception) -> None:
        located("spec", wire_errors(refuse), error)

    with pytest.raises(WireError) as found:
        outer(msgspec.ValidationError("wrong type - at `$.metrics[0].type`"))
    assert (found.value.problem, found.value.path) == ("wrong type", "spec.metrics[0].type")
    with pytest.raises(WireError) as found:
        outer(msgspec.ValidationError("wrong type"))
    assert (found.value.problem, found.value.path) == ("wrong type", "spec")


@pytest.mark.parametrize("raised", [TypeError("bug"), KeyError("bug"), AttributeError("bug")])
def test_our_own_mistakes_are_not_disguised(raised: Exception) -> None:
    with pytest.raises(type(raised)):
        wire_errors(refuse)(raised)


def test_a_good_value_passes() -> None:
    assert located("field", quantity.milli, "5") == 5000
    assert each("field", quantity.milli, ["1", "2"]) == (1000, 2000)
    assert each("field", quantity.milli, []) == ()


def test_places_add_up() -> None:
    def outer(texts: list[str]) -> tuple[int, ...]:
        return each("values", quantity.milli, texts)

    with pytest.raises(WireError) as found:
        located("spec", outer, ["1", "2", "x"])
    assert found.value.path == "spec.values[2]"
    assert found.value.problem == "'x' is not a quantity such as 500m, 2 or 1.5Gi"
    assert str(found.value) == "'x' is not a quantity such as 500m, 2 or 1.5Gi - at `$.spec.values[2]`"


def test_messages_are_short_and_of_one_line() -> None:
    error = WireError("a\nb\x1b[31m\ud800" + "x" * 10**6, "y" * 10**6)
    assert str(error).startswith(r"a\nb\x1b[31m\ud800xxx")
    assert len(str(error)) < 3 * MESSAGE_CHARACTERS_MAX
    assert str(error).isprintable()
