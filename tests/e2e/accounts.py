"""Service accounts for controllers that reach the API server through a proxy, which no certificate gets past."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from tests.e2e.kubeconfig import write_kubeconfig
from tests.e2e.namespaces import create_service_account
from tests.e2e.roles import LEASE_NAMESPACE, SCALE_WATCH_ROLE, allow_control, bind_cluster_role, service_account

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.control_plane import ControlPlane


@dataclasses.dataclass(frozen=True)
class Account:
    """An identity: ``user`` is its name in the audit log."""

    user: str
    kubeconfig: Path


async def controller_account(plane: ControlPlane, name: str, url: str) -> Account:
    """A new service account with all rights of a controller, and a kubeconfig that names another server than the plane.

    The roles must have been defined. Raises ApiError.
    """
    await create_service_account(plane.admin, LEASE_NAMESPACE, name)
    subject = service_account(LEASE_NAMESPACE, name)
    await bind_cluster_role(plane.admin, SCALE_WATCH_ROLE, subject)
    await allow_control(plane.admin, subject)
    token = await plane.service_account_token(LEASE_NAMESPACE, name)
    path = write_kubeconfig(plane.files.kubeconfigs / name, url, plane.files.authority.certificate, token)
    return Account(f"system:serviceaccount:{LEASE_NAMESPACE}:{name}", path)
