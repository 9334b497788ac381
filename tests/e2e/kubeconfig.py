"""Kubeconfig files that hold all they need, certificates and keys included."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

from tests.e2e.certificates import Credential

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def write_kubeconfig(
    path: Path, server: str, authority: Path, identity: Credential | str | Mapping[str, Any] | None
) -> Path:
    """Writes path, readable by its owner only, and returns it.

    identity is a client certificate, a bearer token, a whole user entry, or None for nobody. The file is JSON, which
    every YAML parser reads.
    """
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "e2e",
        "contexts": [{"name": "e2e", "context": {"cluster": "e2e", "user": "e2e"}}],
        "clusters": [{"name": "e2e", "cluster": {"server": server, "certificate-authority-data": _encoded(authority)}}],
        "users": [{"name": "e2e", "user": _user(identity)}],
    }
    path.touch(mode=0o600)
    path.write_text(json.dumps(content, indent=2))
    return path


def _user(identity: Credential | str | Mapping[str, Any] | None) -> Mapping[str, Any]:
    match identity:
        case None:
            return {}
        case str():
            return {"token": identity}
        case Credential():
            return {
                "client-certificate-data": _encoded(identity.certificate),
                "client-key-data": _encoded(identity.key),
            }
        case _:
            return identity


def _encoded(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()
