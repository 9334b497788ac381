"""Makes and unmakes namespaces, where kube-controller-manager does not run."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from tests.e2e.api_client import ApiClient, ApiError
from tests.e2e.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable

_NAMESPACES = "/api/v1/namespaces"
_DISCOVERY = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_CONFLICT = 409
_NOT_FOUND = 404


async def create_namespace(admin: ApiClient, prefix: str) -> str:
    """The name of a new namespace with the service account ``default``, which pods need. Raises ApiError."""
    made = await admin.create(_NAMESPACES, {"metadata": {"generateName": f"{prefix}-"}})
    name = str(made["metadata"]["name"])
    await create_service_account(admin, name, "default")
    return name


async def create_service_account(admin: ApiClient, namespace: str, name: str) -> None:
    """Makes a service account. Harmless when there is one. Raises ApiError."""
    try:
        await admin.create(f"{_NAMESPACES}/{namespace}/serviceaccounts", {"metadata": {"name": name}})
    except ApiError as error:
        if error.status != _CONFLICT:
            raise


async def delete_namespace(admin: ApiClient, name: str) -> None:
    """Deletes a namespace and everything in it at once, pods included. Raises ApiError or TimeoutError."""
    # Terminating first, so that nobody creates anything new in it.
    await _unless_gone(admin.delete(f"{_NAMESPACES}/{name}"))
    collections = [path async for path in _deletable_collections(admin, name)]
    query = {"gracePeriodSeconds": "0", "propagationPolicy": "Background"}
    await asyncio.gather(*(_unless_gone(admin.delete(path, query)) for path in collections))

    async def finalized() -> bool:
        try:
            namespace = await admin.get(f"{_NAMESPACES}/{name}")
            namespace["spec"]["finalizers"] = []
            await admin.replace(f"{_NAMESPACES}/{name}/finalize", namespace)
        except ApiError as error:
            return error.status == _NOT_FOUND
        return False

    await wait_until(finalized, f"namespace {name} to be gone")


async def _deletable_collections(admin: ApiClient, namespace: str) -> AsyncIterator[str]:
    for root in ("/api", "/apis"):
        discovery = await admin.get(root, accept=_DISCOVERY)
        for group in discovery["items"]:
            # All versions of a group show the same objects.
            version = group["versions"][0]
            group_name = group["metadata"].get("name")
            prefix = f"{root}/{group_name}" if group_name else root
            for resource in version.get("resources", ()):
                # Of a resource that is only known by its subresources no verbs are told.
                verbs = resource.get("verbs") or ()
                if resource["scope"] == "Namespaced" and "deletecollection" in verbs:
                    yield f"{prefix}/{version['version']}/namespaces/{namespace}/{resource['resource']}"


async def _unless_gone(request: Awaitable[Any]) -> None:
    try:
        await request
    except ApiError as error:
        if error.status != _NOT_FOUND:
            raise
