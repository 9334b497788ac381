"""A second hpa-controller at work on the same HPAs, which no Lease keeps away: it goes by our name, and is told of."""

import asyncio
from typing import Any

import msgspec
import pytest
from structlog.testing import capture_logs

from controller.company import Company
from controller.telemetry.comparisons import families
from tests.spine.foreign import SILENCE_S, overloaded
from tests.spine.objects import KEY, autoscaler
from tests.spine.stage import Stage
from tests.spine.world import LoopClock

pytestmark = pytest.mark.looptime


def twin_writes(stage: Stage, **status: Any) -> None:
    """A status write of another instance of ours reaches the cache."""
    cached = stage.autoscalers.get(KEY)
    assert cached is not None
    version, changed = str(int(cached.version) + 1), msgspec.structs.replace(cached.status, **status)
    stage.autoscalers.put(msgspec.structs.replace(cached, version=version, status=changed))


async def test_it_is_told_of_once_and_the_hpa_is_scaled_all_the_same() -> None:
    stage = overloaded()
    await stage.sync()
    stage.taken_lines()
    with capture_logs() as lines:
        for desired in (7, 8):
            twin_writes(stage, replicas_desired=desired)
    assert stage.taken_lines() == ["event ForeignWriter"]
    assert [(line["event"], line["hpa"]) for line in lines] == [("another hpa-controller scales this HPA, too", KEY)]
    [_, event] = stage.sink.events[-1]
    for part in ("Warning", "another hpa-controller scales", "kubectl get leases -A", "--shadow"):
        assert part in f"{event.type} {event.message}"
    assert (stage.company.twins, stage.company.yielded) == ([KEY], {})
    told = {sample.name: sample.value for family in families(stage.shadow, stage.company) for sample in family.samples}
    assert (told["hpa_controller_twin_writers"], told["hpa_controller_foreign_writers"]) == (1, 0)
    stage.uses(400, 400, 400, 400)
    await stage.syncs(1)
    assert stage.scales.replicas("shop", "web") == 8


async def test_after_a_silence_it_has_gone_and_is_told_of_anew_if_it_comes_back() -> None:
    stage = overloaded()
    await stage.sync()
    twin_writes(stage, replicas_desired=7)
    await asyncio.sleep(SILENCE_S + 1)
    assert stage.company.twins == []
    twin_writes(stage, replicas_desired=8)
    assert stage.sink.reasons().count("ForeignWriter") == 2


async def test_what_the_leader_before_us_wrote_last_may_come_late() -> None:
    stage = overloaded()
    twin_writes(stage, replicas_desired=7)
    await stage.sync()
    assert stage.sink.reasons() == ["SuccessfulRescale"]
    assert stage.company.twins == []


async def test_who_leads_after_us_is_no_twin_and_neither_is_who_led_between_two_terms_of_ours() -> None:
    stage = overloaded()
    await stage.sync()
    stage.election.lose()
    twin_writes(stage, replicas_desired=7)
    stage.election.win()
    twin_writes(stage, replicas_desired=8)
    assert stage.company.twins == []
    assert "ForeignWriter" not in stage.sink.reasons()
    await stage.syncs(2)
    twin_writes(stage, replicas_desired=9)
    assert stage.company.twins == [KEY]
    stage.election.lose()
    assert stage.company.twins == []


async def test_edits_of_people_and_our_own_writes_are_of_no_twin() -> None:
    stage = overloaded()
    for _ in range(3):
        await stage.syncs(1)
        cached = stage.autoscalers.get(KEY)
        assert cached is not None
        version = str(int(cached.version) + 1)
        stage.autoscalers.put(msgspec.structs.replace(cached, version=version, spec=autoscaler(replicas_max=30).spec))
        stage.uses(*[200] * stage.scales.replicas("shop", "web"))
    assert stage.company.twins == []
    assert "ForeignWriter" not in stage.sink.reasons()


async def test_an_hpa_that_is_made_anew_has_none() -> None:
    stage = overloaded()
    await stage.sync()
    twin_writes(stage, replicas_desired=7)
    stage.autoscalers.remove(KEY)
    stage.add(autoscaler(uid="another"))
    twin_writes(stage, replicas_desired=8)
    assert stage.company.twins == [], "nothing that we wrote of it has come back"


async def test_twins_need_not_be_looked_for() -> None:
    stage = overloaded()
    company = Company(LoopClock(), stage.sink, stage.orders, stage.election, shadow=False, silence_ns=0)
    before = autoscaler()
    company.sending(before)
    ours = msgspec.structs.replace(
        before, version="2", status=msgspec.structs.replace(before.status, replicas_desired=4)
    )
    company.changed(before, ours)
    theirs = msgspec.structs.replace(ours, version="3", status=msgspec.structs.replace(ours.status, replicas_desired=5))
    company.changed(ours, theirs)
    assert (company.twins, stage.sink.events) == ([], [])
