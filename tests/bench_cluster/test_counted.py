"""What is told of counted instructions."""

from collections import Counter

from controller.decide.decision import decide
from tests.bench_cluster.counted import report


def test_the_functions_that_take_most_are_told_first() -> None:
    here, there = report.__code__, decide.__code__
    first, *functions = report(Counter({here: 10, there: 70}), Counter({here: 1, there: 4}), 4)
    assert first == "4 syncs, each 20 instructions and 1 calls"
    assert [line.split() for line in functions] == [
        f"17.5 in 1.00 calls of controller/decide/decision.py:{there.co_firstlineno} decide".split(),
        f"2.5 in 0.25 calls of bench_cluster/counted.py:{here.co_firstlineno} report".split(),
    ]


def test_without_a_sync_there_is_nothing_to_tell() -> None:
    assert list(report(Counter({report.__code__: 10}), Counter(), 0)) == ["no syncs"]
