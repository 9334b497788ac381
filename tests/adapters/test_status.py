import pytest

from controller.decide.status import Status
from controller.kube.list_watch import decode_watched_autoscaler
from controller.kube.status import KubeStatusWriter
from controller.ports import NotLeading
from controller.wire.echoes import Echoes
from tests.adapters.parts import SetLeadership, always, connected_to
from tests.adapters.raw_server import answer, serving

METADATA = (
    b'{"name":"web","namespace":"default","uid":"u","resourceVersion":"7","annotations":{"big":"'
    + b"x" * 200_000
    + b'","\\u00e4":"1"},"finalizers":["a/b"],"labels":{"z":"1","a":"2"},"notYetInvented":{"deep":[1.50,null]}}'
)
BODY = b'{"metadata":' + METADATA + b',"spec":{"maxReplicas":3,"scaleTargetRef":{"kind":"Deployment","name":"web"}}}'


async def test_metadata_goes_back_byte_by_byte_and_the_spec_not_at_all() -> None:
    watched, version = decode_watched_autoscaler(BODY)
    assert version == "7"
    async with serving(answer(b"{}")) as server, connected_to(server.url) as client:
        await KubeStatusWriter(client, Echoes()).write(watched, Status(), always)
        (request,) = server.requests
    assert (request.method, request.target) == (
        "PUT",
        "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers/web/status",
    )
    assert b'"metadata":' + METADATA in request.body
    assert b'"spec"' not in request.body


async def test_nothing_is_written_without_the_leadership() -> None:
    leadership = SetLeadership()
    leadership.leading = False
    watched, _ = decode_watched_autoscaler(BODY)
    async with serving(answer(b"{}")) as server, connected_to(server.url, leadership=leadership) as client:
        with pytest.raises(NotLeading):
            await KubeStatusWriter(client, Echoes()).write(watched, Status(), always)
        assert server.requests == []


async def test_it_is_known_what_a_status_says_that_comes_back_from_the_moment_it_is_sent() -> None:
    watched, _ = decode_watched_autoscaler(BODY)
    echoes, sent = Echoes(), Status(1, 2)
    async with serving(answer(b"{}")) as server, connected_to(server.url) as client:
        await KubeStatusWriter(client, echoes).write(watched, sent, always)
        (request,) = server.requests
    encoded = request.body.partition(b'"status":')[2].removesuffix(b"}")
    assert echoes.heard(encoded) is sent
    assert echoes.heard(encoded + b" ") is None
