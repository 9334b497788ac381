"""The lab answers the controller as kube-apiserver does: the same story before both, and all that was said compared."""

from __future__ import annotations

import dataclasses
import json
import re
import sys
from typing import TYPE_CHECKING, Any

import pytest_asyncio

from controller.lab.server import LabServer
from tests.e2e import traffic
from tests.e2e.aggregation import wait_available
from tests.e2e.controller_process import ControllerProcess
from tests.e2e.kubeconfig import write_kubeconfig
from tests.e2e.namespaces import create_namespace, delete_namespace
from tests.e2e.recording_proxy import Exchange, RecordingProxy
from tests.e2e.roles import CONTROLLERS
from tests.e2e.traffic_scene import FAILING, HIGH, LOW, FeedingValues, Story
from tests.e2e.workload_kinds import FLEET, create_custom_kind
from tests.trust import trusting

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.e2e.control_plane import ControlPlane
    from tests.e2e.metrics_server import MetricsServer


@dataclasses.dataclass(frozen=True)
class Known:
    """A difference between the lab and kube-apiserver that is as it should be."""

    asked: str
    """A pattern of what was asked."""
    fact: str
    """A pattern of the fact that holds for one of them only."""
    reason: str

    def covers(self, asked: str, fact: str) -> bool:
        """Whether a fact is this difference."""
        return re.match(self.asked, asked) is not None and re.fullmatch(self.fact, fact) is not None


# Each field of each event of the watch.
_POD = r"- answer 200 (ADDED|MODIFIED|DELETED) \.spec\."
KNOWN_DIFFERENCES = (
    Known(
        r"GET /api/v1/pods\?",
        _POD + r"(containers\[\]\.volumeMounts|volumes)\[\]\..*|" + _POD + "serviceAccount(Name)?: str",
        "the admission plugin ServiceAccount mounts a token, which nobody in the lab would use",
    ),
    Known(
        r"GET /api/v1/pods\?",
        _POD + r"tolerations\[\]\..*",
        "the admission plugin DefaultTolerationSeconds is about nodes that fail, which those of the lab do not",
    ),
    Known(
        r"GET /api/v1/pods\?",
        _POD + r"(priority: int|preemptionPolicy: str)",
        "the admission plugin Priority is about preemption, which the lab does not play",
    ),
    Known(
        r"GET /apis/apps/v1/(deployments|replicasets|statefulsets)\?",
        r"- answer 200 BOOKMARK \.spec\.(replicas: int|selector: null)",
        "of a bookmark's object only the metadata means anything; here the rest is what Go makes of an empty one",
    ),
    Known(
        r"GET /apis/e2e\.example\.com/v1$",
        r"- answer 200 \.resources\[\]\.storageVersionHash: str",
        "it is for those who migrate stored objects",
    ),
)
FOLLOWED = 4
"""How many targets follow a load."""


class Told:
    """What came of the story before one server."""

    def __init__(self, exchanges: list[Exchange], namespace: str, statuses: dict[str, Any]) -> None:
        self.exchanges = exchanges
        self.namespace = namespace
        self.statuses = statuses


async def told(plane: ControlPlane, proxy: RecordingProxy, story: Story, namespace: str, name: str) -> Told:
    kubeconfig = write_kubeconfig(plane.files.kubeconfigs / name, proxy.url, plane.files.authority.certificate, None)
    async with story.begun():
        # The Lease has the same name before both.
        lease = "--leader-elect-resource-name=traffic"
        async with ControllerProcess.start(plane, name, lease, kubeconfig=kubeconfig) as controller:
            statuses = await story.played(controller)
    return Told(proxy.exchanges, namespace, statuses)


async def before_the_real_one(plane: ControlPlane, server: MetricsServer, namespace: str) -> Told:
    credential = plane.credential_for("traffic-real", [CONTROLLERS])
    context = trusting(plane.files.authority.certificate)
    context.load_cert_chain(credential.certificate, credential.key)
    async with RecordingProxy.start(plane.url, context) as proxy:
        story = Story(plane.admin, server.values, namespace)
        return await told(plane, proxy, story, namespace, "traffic-real")


async def before_the_lab(plane: ControlPlane) -> Told:
    async with LabServer() as lab, RecordingProxy.start(lab.url) as proxy:
        client = plane.client(None, lab.url)
        await create_custom_kind(client, FLEET)
        namespace = await create_namespace(client, "e2e")
        story = Story(client, FeedingValues(lab.cluster.metrics), namespace)
        return await told(plane, proxy, story, namespace, "traffic-lab")


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def both(
    control_plane: ControlPlane,
    controllers_may_control: None,  # noqa: ARG001  # it defines the roles
    registered_metrics_server: MetricsServer,
) -> AsyncIterator[tuple[Told, Told]]:
    """The story before kube-apiserver and before the lab."""
    await control_plane.ensure_running()
    await wait_available(control_plane.admin)
    namespace = await create_namespace(control_plane.admin, "e2e")
    try:
        real = await before_the_real_one(control_plane, registered_metrics_server, namespace)
    finally:
        registered_metrics_server.values.clear(namespace)
        await delete_namespace(control_plane.admin, namespace)
    yield real, await before_the_lab(control_plane)


def test_the_same_is_asked_and_answered(both: tuple[Told, Told]) -> None:
    found = traffic.differences(*(traffic.talk(told.exchanges, told.namespace) for told in both))
    unused = set(KNOWN_DIFFERENCES)
    unexpected: dict[str, list[str]] = {}
    for asked, facts in sorted(found.items()):
        for fact in sorted(facts):
            known = [each for each in KNOWN_DIFFERENCES if each.covers(asked, fact)]
            unused.difference_update(known)
            if not known:
                unexpected.setdefault(asked, []).append(fact)
    sys.stdout.write(json.dumps({asked: sorted(facts) for asked, facts in sorted(found.items())}, indent=1))
    assert not unexpected, f"- is what the lab lacks, + is what it alone has: {json.dumps(unexpected, indent=1)}"
    assert not unused, "a difference that is no more has to leave the list"


def test_the_same_is_done_in_the_same_order(both: tuple[Told, Told]) -> None:
    real, lab = (traffic.sequences(told.exchanges, told.namespace) for told in both)
    found = {path: (real.get(path), steps) for path, steps in lab.items()}
    assert {path: each for path, each in found.items() if each[0] != each[1]} == {}, "of the real one, and of the lab"
    assert lab.keys() == real.keys()
    # The story has happened, failures included.
    gone = "/apis/apps/v1/namespaces/{namespace}/deployments/gone/scale"
    assert real[gone] == ["GET 404"]
    assert real["/apis/gadgets.example.com"] == ["GET 404"]
    assert real["/api/v1/namespaces/{namespace}/events/gone.{id}"] == ["PATCH 200"]


def test_the_same_is_written_to_targets(both: tuple[Told, Told]) -> None:
    real, lab = (traffic.scale_writes(told.exchanges, told.namespace) for told in both)
    assert lab == real
    assert list(real.values()) == [[HIGH, LOW]] * FOLLOWED


def test_the_same_is_told_to_users(both: tuple[Told, Told]) -> None:
    real, lab = both
    assert lab.statuses == real.statuses
    assert real.statuses.keys() == {"high", "low"}
    events, events_of_lab = (traffic.events(told.exchanges, told.namespace) for told in both)
    assert events_of_lab == events
    assert len([event for event in events if event[2] == "SuccessfulRescale"]) == 2 * FOLLOWED
    assert {event[0] for event in events if event[1] == "Warning"} == FAILING.keys()
