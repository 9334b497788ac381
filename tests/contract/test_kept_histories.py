"""What keeping histories in ConfigMaps relies on: a patch with a version replaces nothing that is newer."""

from tests.contract.api_server import MERGE_PATCH, Api
from tests.contract.objects import config_maps

HISTORY = "AAECAwQF"


async def test_a_merge_patch_with_a_version_meets_only_that_version(api: Api, namespace: str) -> None:
    path = config_maps(namespace, "history")
    labels = {"team": "platform"}
    created = await api.create(
        config_maps(namespace),
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "history", "labels": labels},
            "binaryData": {"history": HISTORY},
        },
    )
    assert created["binaryData"] == {"history": HISTORY}
    version = created["metadata"]["resourceVersion"]
    change = {"metadata": {"resourceVersion": version}, "binaryData": {"history": "BgcI"}}
    changed = (await api.request("PATCH", path, change, content_type=MERGE_PATCH)).body
    assert changed["metadata"]["labels"] == labels
    assert changed["binaryData"] == {"history": "BgcI"}
    assert changed["metadata"]["resourceVersion"] != version
    late = {"metadata": {"resourceVersion": version}, "binaryData": {"history": HISTORY}}
    answer = await api.request("PATCH", path, late, content_type=MERGE_PATCH)
    assert (answer.status, answer.body["reason"]) == (409, "Conflict")
    assert (await api.get(path))["binaryData"] == {"history": "BgcI"}


async def test_an_object_cannot_be_created_twice(api: Api, namespace: str) -> None:
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "history"}}
    await api.create(config_maps(namespace), manifest)
    answer = await api.request("POST", config_maps(namespace), manifest)
    assert (answer.status, answer.body["reason"]) == (409, "AlreadyExists")
