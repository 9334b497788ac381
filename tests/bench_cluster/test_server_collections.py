"""When the API server collects, by its own trace, and what is written meanwhile."""

import datetime as dt

import pytest

from tests.bench_cluster.server_collections import LOOKED_AT_S, Rates, collections_in, rates

LOG = """\
gc 1 @0.027s 1%: 0.022+1.1+0.10 ms clock, 0.044+0.12/0.44/0.66+0.21 ms cpu, 3->4->1 MB, 4 MB goal, 2 P
gc 2 @0.500s 3%: 0.029+2.5+0.045 ms clock, 0.059+0.10/1.0/1.2+0.091 ms cpu, 6->6->4 MB, 7 MB goal, 2 P
I0301 10:00:00.500000    9048 options.go:263] external host was not specified
W0301 10:00:07.000000    9048 other.go:1] gc is a word, too
gc 3 @10.000s 7%: 1.0+2498+1.0 ms clock, 4.2+11/2340/743+0.096 ms cpu, 3804->4300->2172 MB, 4467 MB goal, 2 P
"""


def test_collections_are_told_from_the_start_of_the_process() -> None:
    begin_s = dt.datetime(2026, 3, 1, 10).astimezone().timestamp()  # logs are in local time
    *_, (began_s, ended_s) = collections_in(LOG, 2026)
    assert (began_s - begin_s, ended_s - begin_s) == pytest.approx((10.0, 12.5), abs=1e-6)


def test_a_log_without_a_trace_is_refused() -> None:
    with pytest.raises(ValueError, match="run with GODEBUG=gctrace=1"):
        collections_in("I0301 10:00:00.500000    9048 options.go:263] external host was not specified\n", 2026)


def test_only_what_lies_in_the_last_minute_counts() -> None:
    end_s = 1000.0
    spans = [(end_s - LOOKED_AT_S - 5, end_s - LOOKED_AT_S + 10), (end_s - 5, end_s + 5)]
    written_s = [end_s - LOOKED_AT_S - 1, *(end_s - LOOKED_AT_S + at for at in (1, 2, 3, 20, 30, 58)), end_s + 1]
    assert rates(written_s, spans, end_s) == Rates(4 / 15, 2 / 45, 15 / 60)
