"""Whatever is observed, asked for and remembered: a decision, and for whatever the write comes to, a conclusion."""

from hypothesis import given

from controller.decide.decision import conclude, decide
from controller.decide.observed import Scale
from controller.decide.result import Path, Write, Written
from tests.builders import now
from tests.decide.strategies import WRITES, World, profile, wild_worlds


def test_nothing_is_raised() -> None:
    """Every quotient, rounding and lookup is guarded (§7, §28.5), so that one HPA never stops the others."""
    reached = set()

    @profile(220)
    @given(wild_worlds(), WRITES)
    def any_sync(world: World, write: Write) -> None:
        decision = decide(world.autoscaler, world.observation, world.history, now())
        previous = world.observation.status
        conclusion = conclude(world.autoscaler, previous, decision, write if decision.rescales else None, now(1))
        reached.add(decision.path)
        if isinstance(world.observation.scale, Scale):
            assert conclusion.history.recommendations is not None
        assert conclusion.status_changed == (conclusion.status != previous)
        assert (conclusion.scaled_to is not None) == (decision.rescales and isinstance(write, Written))
        assert conclusion.cause == "none" or conclusion.error is not None

    any_sync()
    assert reached == set(Path)


@profile(60)
@given(wild_worlds(), WRITES)
def test_the_same_again_for_the_same(world: World, write: Write) -> None:
    """All inputs are immutable values and no clock or chance enters (design of the core)."""

    def decided() -> str:
        decision = decide(world.autoscaler, world.observation, world.history, now())
        answer = write if decision.rescales else None
        return repr((decision, conclude(world.autoscaler, world.observation.status, decision, answer, now())))

    # By their text, since NaN is not equal to itself.
    before = repr(world)
    assert decided() == decided()
    assert repr(world) == before
