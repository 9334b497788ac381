"""Requests that the API server refuses."""

import pytest

from tests.lab.client import Client
from tests.lab.objects import DEPLOYMENT_PATH, HPA_PATH, deployment, hpa


@pytest.mark.parametrize("method", ["DELETE", "POST"])
async def test_a_subresource_is_neither_deleted_nor_created(client: Client, method: str) -> None:
    await client.request("POST", DEPLOYMENT_PATH, deployment())
    await client.request("POST", HPA_PATH, hpa())
    for path in (DEPLOYMENT_PATH + "/web/scale", DEPLOYMENT_PATH + "/web/status", HPA_PATH + "/web/status"):
        answer = await client.request(method, path, {})
        assert (answer.status, answer.body["reason"]) == (405, "MethodNotAllowed")
        await client.get(path)
