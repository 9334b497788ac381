import asyncio
import gzip
import ssl
import stat
from pathlib import Path

import aiohttp
import pytest
import yaml

from controller.lab.cluster import Cluster
from controller.lab.server import LabServer
from tests.lab.certificates import make_certificate
from tests.lab.client import WAIT_S, Client
from tests.lab.objects import CONFIG_MAP_PATH, HPA_PATH, HPAS, POD_PATH, config_map, hpa, pod


async def test_a_token_is_asked_for_when_wanted() -> None:
    async with LabServer(authenticate=True) as lab, aiohttp.ClientSession() as session:
        client = Client(lab.url, session)
        for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "Basic x"}):
            answer = await client.request("GET", HPA_PATH, headers=headers)
            assert (answer.status, answer.body["reason"]) == (401, "Unauthorized")
        answer = await client.request("GET", HPA_PATH, headers={"Authorization": f"Bearer {lab.token}"})
        assert answer.status == 200
        assert (await client.request("GET", "/healthz")).status == 200


async def test_every_server_has_a_token_of_its_own() -> None:
    cluster = Cluster()
    tokens = {LabServer(cluster, authenticate=True).token for _ in range(3)}
    assert len(tokens) == 3
    assert LabServer(cluster).token is None


async def test_https_with_a_given_certificate(tmp_path: Path) -> None:
    certificate = make_certificate(tmp_path)
    trust = ssl.create_default_context(cafile=certificate.authority)
    async with LabServer(certificate=certificate) as lab, aiohttp.ClientSession() as session:
        assert lab.url.startswith("https://127.0.0.1:")
        async with asyncio.timeout(WAIT_S), session.get(lab.url + HPA_PATH, ssl=trust) as response:
            assert response.status == 200
        with pytest.raises(aiohttp.ClientConnectorCertificateError):
            await session.get(lab.url + HPA_PATH)


async def test_a_kubeconfig_leads_to_the_server(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text("an older file")
    certificate = make_certificate(tmp_path)
    async with LabServer(authenticate=True, certificate=certificate) as lab:
        lab.write_kubeconfig(path, namespace="team")
        document = yaml.safe_load(path.read_text())
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        cluster = {"server": lab.url, "certificate-authority": str(certificate.authority)}
        assert document["clusters"][0]["cluster"] == cluster
        assert document["users"][0]["user"] == {"token": lab.token}
        assert document["contexts"][0]["context"]["namespace"] == "team"
    async with LabServer() as lab:
        lab.write_kubeconfig(path)
        document = yaml.safe_load(path.read_text())
        assert document["clusters"][0]["cluster"] == {"server": lab.url}
        assert document["users"][0]["user"] == {}


async def test_large_answers_are_compressed_when_asked_for() -> None:
    async with (
        LabServer(gzip_threshold_bytes=2000) as lab,
        aiohttp.ClientSession(auto_decompress=False) as session,
    ):

        async def read(path: str, encoding: str) -> tuple[str | None, bytes]:
            async with session.get(lab.url + path, headers={"Accept-Encoding": encoding}) as response:
                return response.headers.get("Content-Encoding"), await response.read()

        for index in range(20):
            lab.cluster.create("configmaps", config_map(f"item-{index}"))
        encoding, packed = await read(CONFIG_MAP_PATH, "gzip")
        plain_encoding, plain = await read(CONFIG_MAP_PATH, "identity")
        assert (encoding, plain_encoding) == ("gzip", None)
        assert gzip.decompress(packed) == plain
        assert (await read(CONFIG_MAP_PATH + "/item-1", "gzip"))[0] is None


async def test_requests_are_written_down_in_order(lab: LabServer, client: Client) -> None:
    await client.request("POST", HPA_PATH, hpa(), {"User-Agent": "probe/1"})
    await client.request("GET", HPA_PATH + "/gone", parameters={"resourceVersion": "0"})
    async with client.watch(HPA_PATH) as events:
        await events.next()
        rows = [(item.method, item.verb, item.path, item.query, item.status) for item in lab.requests]
    assert rows == [
        ("POST", "create", HPA_PATH, "", 201),
        ("GET", "get", HPA_PATH + "/gone", "resourceVersion=0", 404),
        ("GET", "watch", HPA_PATH, "watch=1", 200),
    ]
    first = next(iter(lab.requests))
    assert first.user_agent == "probe/1"
    assert b"maxReplicas" in first.body
    writes = lab.requests.select(lambda item: item.method != "GET")
    assert [repr(item) for item in writes] == [f"<POST {HPA_PATH} -> 201>"]
    lab.requests.clear()
    assert (len(lab.requests), lab.requests.total) == (0, 3)


async def test_the_log_keeps_the_last_requests() -> None:
    async with LabServer(request_limit=3) as lab, aiohttp.ClientSession() as session:
        client = Client(lab.url, session)
        for index in range(5):
            await client.request("GET", f"{HPA_PATH}/{index}")
        assert [item.path[-1] for item in lab.requests] == ["2", "3", "4"]
        assert lab.requests.total == 5


async def test_a_restart_cuts_everything_and_keeps_the_objects(lab: LabServer, client: Client) -> None:
    created = lab.cluster.create(HPAS, hpa())
    url = lab.url
    async with client.watch(HPA_PATH) as events:
        await events.next()
        await lab.restart()
        with pytest.raises(aiohttp.ClientError):
            await events.next()
    assert lab.url == url
    found = await client.get(HPA_PATH + "/web")
    assert found == created
    async with client.watch(HPA_PATH, resourceVersion=created["metadata"]["resourceVersion"]) as events:
        lab.cluster.create(HPAS, hpa("more"))
        assert (await events.next())["object"]["metadata"]["name"] == "more"


async def test_a_restart_can_lose_the_history(lab: LabServer, client: Client) -> None:
    created = lab.cluster.create(HPAS, hpa())
    lab.cluster.create(HPAS, hpa("more"))
    await lab.restart(forget_history=True)
    async with client.watch(HPA_PATH, resourceVersion=created["metadata"]["resourceVersion"]) as events:
        event = await events.next()
    assert (event["type"], event["object"]["code"]) == ("ERROR", 410)


async def test_nobody_answers_while_it_is_down(lab: LabServer, client: Client) -> None:
    await lab.stop()
    with pytest.raises(aiohttp.ClientConnectorError):
        await client.request("GET", HPA_PATH)
    await lab.stop()
    await lab.start()
    assert (await client.request("GET", HPA_PATH)).status == 200
    with pytest.raises(RuntimeError, match="already runs"):
        await lab.start()


async def test_a_taken_port_is_an_error(lab: LabServer) -> None:
    with pytest.raises(OSError, match="in use"):
        await LabServer(port=lab.port).start()


async def test_two_servers_of_one_cluster_show_the_same(lab: LabServer, client: Client) -> None:
    async with LabServer(lab.cluster) as second, aiohttp.ClientSession() as session:
        await client.request("POST", HPA_PATH, hpa())
        assert (await Client(second.url, session).get(HPA_PATH + "/web"))["metadata"]["name"] == "web"


async def test_bodies_have_a_limit(client: Client) -> None:
    large = config_map("a")
    large["data"] = {"key": "x" * (4 * 1024 * 1024)}
    assert (await client.request("POST", CONFIG_MAP_PATH, large)).status == 413


async def test_objects_may_be_sent_as_yaml_but_not_as_anything(client: Client) -> None:
    manifest = b"metadata: {name: a}\ndata: {day: 2026-01-02}\n"
    answer = await client.request("POST", CONFIG_MAP_PATH, manifest, {"Content-Type": "application/yaml"})
    assert answer.body["data"] == {"day": "2026-01-02"}
    for content_type, body, status in (
        ("text/plain", b"x", 415),
        ("application/json", b"{", 400),
        ("application/json", b"[]", 400),
        ("application/yaml", b"a: [", 400),
    ):
        assert (await client.request("POST", CONFIG_MAP_PATH, body, {"Content-Type": content_type})).status == status


async def test_unknown_fields_are_warned_of_refused_or_ignored(client: Client) -> None:
    wrong = hpa(maxReplica=3)
    warned = await client.request("POST", HPA_PATH, wrong, parameters={"dryRun": "All"})
    assert warned.headers["Warning"] == '299 - "unknown field \\"spec.maxReplica\\""'
    strict = await client.request("POST", HPA_PATH, wrong, parameters={"fieldValidation": "Strict"})
    assert (strict.status, "spec.maxReplica" in strict.body["message"]) == (400, True)
    ignored = await client.request("POST", HPA_PATH, wrong, parameters={"fieldValidation": "Ignore", "dryRun": "All"})
    assert (ignored.status, "Warning" in ignored.headers) == (201, False)


async def test_the_name_in_the_body_must_be_that_of_the_path(client: Client) -> None:
    await client.request("POST", CONFIG_MAP_PATH, config_map("a"))
    assert (await client.request("PUT", CONFIG_MAP_PATH + "/a", config_map("b"))).status == 400
    assert (await client.request("PUT", CONFIG_MAP_PATH + "/a", {"data": {}})).status == 400
    elsewhere = config_map("a", namespace="kube-system")
    assert (await client.request("PUT", CONFIG_MAP_PATH + "/a", elsewhere)).status == 400
    assert (await client.request("PUT", CONFIG_MAP_PATH + "/gone", config_map("gone"))).status == 404


async def test_collections_are_deleted_by_selector(lab: LabServer, client: Client) -> None:
    for name, tier in (("a", "web"), ("b", "db"), ("c", "web")):
        lab.cluster.create("pods", pod(name, tier=tier))
    answer = await client.request("DELETE", POD_PATH, parameters={"labelSelector": "tier=web"})
    assert [item["metadata"]["name"] for item in answer.body["items"]] == ["a", "c"]
    assert [item["metadata"]["name"] for item in lab.cluster.list("pods")] == ["b"]


async def test_deletions_are_told_how_in_body_or_parameters(lab: LabServer, client: Client) -> None:
    running = pod("a")
    running["spec"]["nodeName"] = "node-1"
    lab.cluster.create("pods", running)
    options = {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 90}
    answer = await client.request("DELETE", POD_PATH + "/a", options)
    assert answer.body["metadata"]["deletionGracePeriodSeconds"] == 90
    answer = await client.request("DELETE", POD_PATH + "/a", parameters={"gracePeriodSeconds": 0})
    assert (answer.status, lab.cluster.find("pods", "a")) == (200, None)
    for wrong in ({"propagationPolicy": "Odd"}, {"dryRun": ["Some"]}, {"gracePeriodSeconds": "soon"}):
        answer = await client.request("DELETE", POD_PATH + "/a", wrong)
        assert answer.status in (400, 422), wrong
        assert answer.body["status"] == "Failure"


async def test_a_bug_is_an_answer_too(lab: LabServer, client: Client, caplog: pytest.LogCaptureFixture) -> None:
    # An object that no write could have stored makes its table fail.
    resource = lab.cluster.world.registry.preferred(HPAS).resource
    lab.cluster.world.store.put(resource, {"metadata": {"name": "broken", "namespace": "default"}})
    accept = {"Accept": "application/json;as=Table;g=meta.k8s.io;v=v1"}
    answer = await client.request("GET", HPA_PATH, headers=accept)
    assert (answer.status, answer.body["reason"]) == (500, "InternalError")
    assert "the lab failed on GET" in caplog.text


async def test_an_owner_that_is_named_twice_is_kept_once_and_warned_of(client: Client) -> None:
    def owner(uid: str, name: str = "a") -> dict[str, str]:
        return {"apiVersion": "v1", "kind": "Pod", "name": name, "uid": uid}

    given = [owner("u"), owner("v"), owner("u"), owner("u", "b")]
    kept = [owner("u"), owner("v"), owner("u", "b")]
    path = CONFIG_MAP_PATH + "/a"
    created = await client.request("POST", CONFIG_MAP_PATH, config_map("a", ownerReferences=given))
    replaced = await client.request("PUT", path, config_map("a", ownerReferences=given))
    patched = await client.patch(path, {"metadata": {"ownerReferences": given}}, "merge-patch+json")
    for answer in (created, replaced, patched):
        assert answer.body["metadata"]["ownerReferences"] == kept
        assert "the same entry more than once" in answer.headers["Warning"]
    answer = await client.request("PUT", path, config_map("a", ownerReferences=kept))
    assert "Warning" not in answer.headers
