"""What the API server writes down about requests, and reading it back."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

_WRITES = ["create", "update", "patch", "delete"]

# The first rule that matches a request decides. Bodies of what a controller reads one by one and of what
# anybody writes are kept; those of collections, of pods (the bulk of all writes) and of secrets are not.
AUDIT_POLICY: dict[str, Any] = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [
        {
            "level": "Metadata",
            "resources": [
                {"group": "", "resources": ["secrets", "serviceaccounts/token", "pods", "pods/status"]},
                {"group": "authentication.k8s.io"},
            ],
        },
        {
            "level": "RequestResponse",
            "verbs": ["get"],
            "resources": [
                {"group": "*", "resources": ["*/scale"]},
                {"group": "autoscaling"},
                {"group": "coordination.k8s.io", "resources": ["leases"]},
            ],
        },
        {"level": "RequestResponse", "verbs": _WRITES},
        {"level": "Metadata"},
    ],
}


class AuditLog:
    """Reads the audit log of an API server, also while it is being written."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def position(self) -> int:
        """Where the log ends now; later entries are read with ``entries(start=…)``."""
        return self.path.stat().st_size if self.path.exists() else 0

    def entries(self, start: int = 0) -> list[dict[str, Any]]:
        """The parsed entries from a position on, oldest first; a line that is not complete yet is left out.

        A request's entry is written when its answer is complete, so shortly after the client has the answer.
        """
        if not self.path.exists():
            return []
        with self.path.open("rb") as stream:
            # One byte early: what stands before the first line end then began before start.
            stream.seek(max(start - 1, 0))
            *complete, _unfinished = stream.read().split(b"\n")
        return [json.loads(line) for line in complete[1 if start else 0 :]]
