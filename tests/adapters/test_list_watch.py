"""What watches make of objects, those that cannot be understood among them."""

from typing import Any

import msgspec
import pytest

from controller.decide.status import Status
from controller.kube.list_watch import KubeListWatch, decode_watched_autoscaler, decode_watched_pod
from controller.lab.server import LabServer
from controller.pod_cache import WatchedPod
from controller.ports import Bookmark, Put, Removed, ServerFailure, StatusWrite, WatchEvent
from controller.version import PROGRAM
from controller.wire.echoes import Echoes
from controller.wire.objects import decode_identity
from tests.adapters.parts import connected_to
from tests.adapters.raw_server import CHUNKED, WAIT_S, chunk, cut_after, serving

PODS = "/api/v1/pods"
POD: dict[str, Any] = {"metadata": {"name": "a", "namespace": "shop", "resourceVersion": "7"}}
ODD: dict[str, Any] = POD | {"status": {"startTime": "yesterday"}}


def line(kind: str, obj: Any) -> bytes:
    return chunk(msgspec.json.encode({"type": kind, "object": obj}) + b"\n")


async def watched(*lines: bytes) -> list[WatchEvent[WatchedPod]]:
    """The events of a watch from version 5 that says these lines, after the bookmark that it begins with."""
    async with serving(cut_after(CHUNKED + b"".join(lines) + chunk(b""))) as server, connected_to(server.url) as client:
        source = KubeListWatch(client, PODS, decode_watched_pod, silence_max_s=WAIT_S)
        events = list[WatchEvent[WatchedPod]]()
        await source.watch("5", WAIT_S, events.append, initial=False)
    assert events.pop(0) == Bookmark("5")
    return events


@pytest.mark.parametrize("kind", ["ADDED", "MODIFIED", "DELETED"])
async def test_an_object_that_cannot_be_understood_any_more_is_not_kept_as_it_was(kind: str) -> None:
    assert await watched(line(kind, ODD)) == [Removed("shop/a", "7")]


async def test_a_deleted_object_need_only_say_which_it_is() -> None:
    without_namespace = {"metadata": {"name": "node", "resourceVersion": "8"}}
    events = await watched(line("DELETED", POD), line("DELETED", without_namespace))
    assert events == [Removed("shop/a", "7"), Removed("node", "8")]


@pytest.mark.parametrize("nobody", [{}, {"metadata": {}}, {"metadata": {"name": 5}}, [], None])
async def test_what_does_not_say_which_object_it_is_changes_nothing_and_stops_nothing(nobody: Any) -> None:
    [event] = await watched(line("MODIFIED", nobody), line("ADDED", POD))
    assert isinstance(event, Put)
    assert (event.item.pod.name, event.version) == ("a", "7")


@pytest.mark.parametrize("nobody", [{}, {"metadata": {}}, {"metadata": {"name": 5}}, [], None])
async def test_a_deletion_that_does_not_say_of_what_is_no_event_to_pass_over(nobody: Any) -> None:
    """The object would stay until the next list: only a list can tell which it was."""
    with pytest.raises(ServerFailure, match="it is not said which object was deleted"):
        await watched(line("DELETED", nobody), line("ADDED", POD))


def test_of_an_hpa_it_is_kept_who_else_has_written_its_status_but_not_that_we_have() -> None:
    """Else each HPA that we write would be taken for one at which another controller is at work."""
    writes = [
        {"manager": manager, "subresource": subresource, "time": "2026-01-01T00:00:00Z"}
        for manager, subresource in ((PROGRAM, "status"), ("kube-controller-manager", "status"), ("kubectl", ""))
    ]
    metadata = {"name": "web", "namespace": "shop", "resourceVersion": "7", "managedFields": writes}
    spec = {"scaleTargetRef": {"kind": "Deployment", "name": "web"}, "maxReplicas": 3}
    watched, _ = decode_watched_autoscaler(msgspec.json.encode({"metadata": metadata, "spec": spec}))
    assert watched.foreign_writes == (StatusWrite("kube-controller-manager", "2026-01-01T00:00:00Z"),)


def encoded_autoscaler(spec: Any, status: Any, name: str = "web") -> bytes:
    metadata = {"name": name, "namespace": "shop", "uid": "u", "resourceVersion": "7"}
    return msgspec.json.encode({"metadata": metadata, "spec": spec, "status": status})


SPEC: dict[str, Any] = {"scaleTargetRef": {"kind": "Deployment", "name": "web"}, "maxReplicas": 3}


def test_the_spec_of_an_hpa_is_decoded_when_it_changes() -> None:
    body = encoded_autoscaler(SPEC, None)
    before, _ = decode_watched_autoscaler(body)
    known = {"shop/web": before}.get
    assert decode_watched_autoscaler(body, known)[0].spec is before.spec
    changed, _ = decode_watched_autoscaler(encoded_autoscaler(SPEC | {"maxReplicas": 4}, None), known)
    assert (before.spec.replicas_max, changed.spec.replicas_max) == (3, 4)
    other, _ = decode_watched_autoscaler(encoded_autoscaler(SPEC, None, "api"), known)
    assert other.spec == before.spec
    assert other.spec is not before.spec


@pytest.mark.parametrize(
    ("spec", "status"), [({"maxReplicas": "three"}, None), (SPEC, {"conditions": 7})], ids=["spec", "status"]
)
def test_what_could_not_be_understood_before_is_looked_at_again(spec: Any, status: Any) -> None:
    before, _ = decode_watched_autoscaler(encoded_autoscaler(spec, status))
    assert before.problem is not None
    again, _ = decode_watched_autoscaler(encoded_autoscaler(spec, status), {"shop/web": before}.get)
    assert again == before
    mended, _ = decode_watched_autoscaler(encoded_autoscaler(SPEC, None), {"shop/web": again}.get)
    assert (mended.problem, mended.spec.replicas_max) == (None, 3)


def test_a_status_that_we_have_sent_is_not_decoded_when_it_comes_back() -> None:
    """Whatever else its text says, which shows that nobody has looked."""
    echoes, sent = Echoes(), Status(replicas_desired=2)
    echoes.expect(b'{"desiredReplicas":3}', sent)
    body = encoded_autoscaler(SPEC, {"desiredReplicas": 3})
    assert decode_watched_autoscaler(body, echoes=echoes)[0].status is sent
    assert decode_watched_autoscaler(body, echoes=echoes)[0].status is sent, "of several HPAs, perhaps"
    assert decode_watched_autoscaler(body, echoes=Echoes())[0].status == Status(replicas_desired=3)


async def test_a_list_comes_in_pages_and_of_some_objects_only_if_that_is_asked() -> None:
    def name(body: bytes) -> tuple[str, str]:
        return decode_identity(body).name, ""

    path = "/api/v1/namespaces/default/configmaps"
    async with LabServer() as lab, connected_to(lab.url) as client:
        for number in range(3):
            metadata = {"name": f"c-{number}", "namespace": "default"}
            lab.cluster.create("configmaps", {"metadata": metadata, "data": {}})
        source = KubeListWatch(client, path, name, silence_max_s=WAIT_S)
        pages = [await source.list(2, "")]
        while pages[-1].token and len(pages) < 9:
            pages.append(await source.list(2, pages[-1].token))
        assert max(len(page.items) for page in pages) == 2
        listed = [each for page in pages for each in page.items]
        assert [each for each in listed if each.startswith("c-")] == ["c-0", "c-1", "c-2"]
        one = KubeListWatch(client, path, name, silence_max_s=WAIT_S, field_selector="metadata.name=c-1")
        assert (await one.list(2, "")).items == ["c-1"]
