"""What the tests' own clients and servers trust; kubectl and the controller see to it by themselves."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def trusting(authority: Path | str | None) -> ssl.SSLContext:
    """A client's context that trusts this authority alone, or those of the system; as Kubernetes would."""
    context = ssl.create_default_context(cafile=authority)
    as_kubernetes_trusts(context)
    return context


def as_kubernetes_trusts(context: ssl.SSLContext) -> None:
    """Have it accept certificates that do not tell their authority's key, which Python refuses from 3.13 on.

    Those of our control planes do not, as in many clusters.
    """
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
