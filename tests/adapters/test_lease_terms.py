"""What a Lease promises at the borders of terms: to its holder, to those who wait for it, and to kept histories."""

import asyncio
from typing import Any

import pytest

from controller.kube.lease import Lease, LeaseSettings
from controller.ports import Unreachable
from tests.adapters.parts import LoopClock, half
from tests.adapters.test_lease import LeaseServer, client, contender, writable
from tests.spine.tasks import running

pytestmark = pytest.mark.looptime


async def leads(lease: Lease) -> None:
    """Return when it has just been acquired."""
    for _ in range(600):
        if lease.leading:
            return
        await asyncio.sleep(0.1)
    pytest.fail("it is not acquired within a minute")


async def test_a_standby_that_ends_leaves_the_lease_to_its_holder() -> None:
    server, first, second = LeaseServer(), contender("a"), contender("b")
    async with running(first.run(client(server))):
        await asyncio.sleep(1)
        async with running(second.run(client(server))):
            await asyncio.sleep(0.5)
        await second.release(client(server))
        assert server.stored is not None
        assert server.stored["spec"]["holderIdentity"] == "a"


async def test_each_new_holder_is_another_tenure_and_a_renewal_is_not() -> None:
    server, tenures = LeaseServer(), list[int]()
    for name in "abc":
        lease = contender(name)
        async with running(lease.run(client(server))):
            await leads(lease)
            began = lease.tenure
            assert began is not None
            tenures.append(began)
            await asyncio.sleep(30)
            assert lease.tenure == began
        await lease.release(client(server))
        assert lease.tenure is None
    assert tenures == [tenures[0], tenures[0] + 1, tenures[0] + 2]


async def test_the_first_holder_of_a_new_lease_has_taken_it_from_nobody() -> None:
    server, lease = LeaseServer(), contender("a")
    async with running(lease.run(client(server))):
        await leads(lease)
        await asyncio.sleep(30)
        assert server.stored is not None
        assert server.stored["spec"]["leaseTransitions"] == 0


async def test_no_tenure_of_a_lease_made_anew_is_one_of_the_deleted_lease_or_follows_one() -> None:
    """Its transitions begin at 0 again: who led first in both has to learn that others led between."""
    server = LeaseServer()
    deleted, anew = await tenures_of_two_holders(server), await tenures_of_two_holders(server)
    assert not set(anew) & {following for tenure in deleted for following in (tenure, tenure + 1)}


async def test_who_held_a_lease_that_was_deleted_has_another_tenure_when_it_makes_it_anew() -> None:
    server, lease = LeaseServer(), contender("a")
    async with running(lease.run(client(server))):
        await leads(lease)
        before = lease.tenure
        server.given_to("b")
        await asyncio.sleep(5)
        assert not writable(lease)
        server.stored = None
        await leads(lease)
        assert lease.tenure not in (None, before)


async def tenures_of_two_holders(server: LeaseServer) -> list[int]:
    """Of those who lead one after the other, once the Lease is deleted."""
    server.stored = None
    tenures = list[int]()
    for name in "ab":
        lease = contender(name)
        async with running(lease.run(client(server))):
            await leads(lease)
            assert lease.tenure is not None
            tenures.append(lease.tenure)
        await lease.release(client(server))
    assert tenures[1] == tenures[0] + 1
    return tenures


async def test_a_lease_that_somebody_else_is_given_is_no_longer_ours() -> None:
    server, lease = LeaseServer(), contender("a")
    async with running(lease.run(client(server))):
        await leads(lease)
        server.given_to("b")
        await asyncio.sleep(5)
        assert not writable(lease)
        assert lease.holder == "b"


async def test_a_holder_is_given_the_time_that_it_has_promised_not_the_time_that_we_would_take() -> None:
    server, second = LeaseServer(), contender("b")
    first = Lease(LeaseSettings("default", "lock", "a", duration_s=60, renew_deadline_s=40), LoopClock(), half)
    async with running(first.run(client(server))):
        await asyncio.sleep(1)
    async with running(second.run(client(server))):
        await asyncio.sleep(35)
        assert writable(first)
        assert not writable(second)


async def test_a_lease_without_a_duration_is_not_taken_at_once() -> None:
    server, second = LeaseServer(), contender("b")
    server.stored = {"metadata": {"resourceVersion": "0"}, "spec": {"holderIdentity": "a"}}
    async with running(second.run(client(server))):
        await asyncio.sleep(10)
        assert not writable(second)


async def test_a_renewal_counts_from_before_it_was_sent() -> None:
    class Slow(LeaseServer):
        async def _delay(self) -> None:
            await asyncio.sleep(2)

    server, lease = Slow(), contender("a")
    async with running(lease.run(client(server))):
        await leads(lease)
        acquired_ns = LoopClock().now().monotonic_ns
        assert lease._writable_until_ns <= acquired_ns + 6 * 10**9, "4 s of 10 s were gone when the answer came"


async def test_after_a_gap_a_new_term_begins() -> None:
    clock, server = LoopClock(), LeaseServer()
    lease = Lease(LeaseSettings("default", "lock", "a"), clock, half)
    async with running(lease.run(client(server))):
        await leads(lease)
        clock.skipped_s = 11
        await asyncio.sleep(3)
        assert writable(lease)
        assert lease.term == 2


async def test_whoever_has_released_the_lease_does_not_take_it_again() -> None:
    server, lease = LeaseServer(), contender("a")
    async with running(lease.run(client(server))) as [task]:
        await leads(lease)
        await lease.release(client(server))
        await asyncio.sleep(30)
        assert not writable(lease)
        assert server.stored is not None
        assert server.stored["spec"]["holderIdentity"] == ""
        assert task.done()


async def test_a_lease_is_released_although_the_answer_to_its_last_renewal_was_lost() -> None:
    server, lease = LeaseServer(), contender("a")
    async with running(lease.run(client(server))):
        await leads(lease)
        server.answers_lost = 1
        await asyncio.sleep(3)
        await lease.release(client(server))
        assert server.stored is not None
        assert (server.stored["spec"]["holderIdentity"], server.answers_lost) == ("", 0)


@pytest.mark.parametrize("holder", ["a", "b"])
async def test_a_lease_of_which_the_version_is_not_known_is_looked_at_before_it_is_released(holder: str) -> None:
    """As after a renewal whose answer was lost, when the look at what became of it has failed, too."""

    class Forgetful(LeaseServer):
        looks_lost = 0

        async def get(self, *args: Any, timeout_s: float, **kwargs: Any) -> bytes:
            if self.looks_lost:
                self.looks_lost -= 1
                raise Unreachable("lost")
            return await super().get(*args, timeout_s=timeout_s, **kwargs)

    server, lease = Forgetful(), contender("a")
    async with running(lease.run(client(server))):
        await leads(lease)
        server.given_to(holder)
        server.looks_lost = 1
        await asyncio.sleep(3)
        assert (server.looks_lost, writable(lease)) == (0, True)
        await lease.release(client(server))
        assert server.stored is not None
        assert server.stored["spec"]["holderIdentity"] == ("" if holder == "a" else "b")


async def test_a_lease_that_somebody_else_has_been_given_meanwhile_is_not_released() -> None:
    server, lease = LeaseServer(), contender("a")
    async with running(lease.run(client(server))):
        await leads(lease)
        server.given_to("b")
        await lease.release(client(server))
        assert server.stored is not None
        assert server.stored["spec"]["holderIdentity"] == "b"


async def test_who_leads_is_told_by_whoever_does_not() -> None:
    server, first, second = LeaseServer(), contender("a"), contender("b")
    assert first.lines() == ["[i]not leading: nobody holds the Lease"]
    async with running(first.run(client(server)), second.run(client(server))):
        await leads(first)
        await asyncio.sleep(5)
        assert first.lines() == []
        assert second.lines() == ["[i]not leading: a holds the Lease"]
        server.down = True
        await asyncio.sleep(15)
        assert first.lines() == ["[!]not leading: the Lease could not be renewed"]


async def test_annotations_are_written_with_each_renewal() -> None:
    server = LeaseServer()
    lease = Lease(LeaseSettings("default", "lock", "a", annotations={"obeys": "modes"}), LoopClock(), half)
    async with running(lease.run(client(server))):
        await asyncio.sleep(10)
    assert server.version > 2
    assert server.stored is not None
    assert server.stored["metadata"]["annotations"] == {"obeys": "modes"}


async def test_what_others_say_of_the_lease_survives_renewals_and_release() -> None:
    server, lease = (
        LeaseServer(),
        Lease(LeaseSettings("default", "lock", "a", annotations={"obeys": "new"}), LoopClock(), half),
    )
    owners = [{"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": "u", "controller": True}]
    metadata = {
        "name": "lock",
        "namespace": "default",
        "resourceVersion": "1",
        "labels": {"team": "platform"},
        "annotations": {"cost-center": "7", "obeys": "old"},
        "ownerReferences": owners,
        "finalizers": ["example.com/keep"],
    }
    server.version = 1
    server.stored = {"metadata": metadata, "spec": {"strategy": "OldestEmulationVersion", "preferredHolder": "b"}}
    async with running(lease.run(client(server))):
        await leads(lease)
        await asyncio.sleep(10)
        renewed, version = server.stored, server.version
        await lease.release(client(server))
    assert server.version > version > 2
    for stored, holder in ((renewed, "a"), (server.stored, "")):
        assert stored["metadata"] == {
            **metadata,
            "annotations": {"cost-center": "7", "obeys": "new"},
            "resourceVersion": stored["metadata"]["resourceVersion"],
        }
        spec = {"holderIdentity": holder, "strategy": "OldestEmulationVersion", "preferredHolder": "b"}
        assert stored["spec"] == stored["spec"] | spec


async def test_a_renewal_is_one_request() -> None:
    server, lease = LeaseServer(), contender("a")
    async with running(lease.run(client(server))):
        await leads(lease)
        await asyncio.sleep(30)
    assert server.asked[:2] == ["GET", "POST"]
    assert len(server.asked) > 10
    assert set(server.asked[2:]) == {"PUT"}


async def test_whoever_was_too_late_to_make_the_lease_stands_by() -> None:
    server, first, second = LeaseServer(), contender("a"), contender("b")
    server.writes_wait_s = 0.1  # both have found none before either makes it
    async with running(second.run(client(server))), running(first.run(client(server))):
        await asyncio.sleep(10)
        assert sorted(server.asked[:4]) == ["GET", "GET", "POST", "POST"]
        assert server.stored is not None
        holder = server.stored["spec"]["holderIdentity"]
        assert (writable(first), writable(second)) == (holder == "a", holder == "b")


async def test_a_lease_that_says_nothing_is_nobodys() -> None:
    server, lease = LeaseServer(), contender("a")
    server.version, server.stored = 1, {"metadata": {"resourceVersion": "1"}}
    async with running(lease.run(client(server))):
        await leads(lease)
