"""A kubeconfig that points kubectl, or a controller, at the lab."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from pathlib import Path

_NAME = "lab"


def write_kubeconfig(path: Path, *, url: str, namespace: str, authority: Path | None, token: str | None) -> None:
    """Write the file, readable by its owner only; an existing one is replaced.

    `authority` is the CA file for https, None for plain http; `token` is None when the server asks for none.
    kubectl sends a token over https only.
    """
    cluster: dict[str, Any] = {"server": url}
    if authority is not None:
        cluster["certificate-authority"] = str(authority)
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": _NAME, "cluster": cluster}],
        "users": [{"name": _NAME, "user": {} if token is None else {"token": token}}],
        "contexts": [{"name": _NAME, "context": {"cluster": _NAME, "user": _NAME, "namespace": namespace}}],
        "current-context": _NAME,
    }
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        yaml.safe_dump(document, file, sort_keys=False)
