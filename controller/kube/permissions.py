"""What to do about a permission that is missing: which value of the Helm chart grants it.

`charts/hpa-controller/files/permissions.yaml` is the list of all permissions; a test holds this one against it.
"""

import re
from typing import Final

_FORBIDDEN: Final = re.compile(
    r'cannot (?P<verb>[a-z]+) resource "(?P<resource>[^"]*)" in API group "(?P<group>[^"]*)"'
)
_VALUES: Final[dict[tuple[str, str], str]] = {
    ("metrics.k8s.io", "pods"): "metricsSources.resource",
    ("custom.metrics.k8s.io", "*"): "metricsSources.custom",
    ("external.metrics.k8s.io", "*"): "metricsSources.external",
    ("apps", "deployments"): "scaleReads",
    ("apps", "replicasets"): "scaleReads",
    ("apps", "statefulsets"): "scaleReads",
    ("", "replicationcontrollers"): "scaleReads",
    ("coordination.k8s.io", "leases"): "leaderElect",
    ("", "configmaps"): "keepHistory",
    ("authentication.k8s.io", "tokenreviews"): "metrics.secure",
    ("authorization.k8s.io", "subjectaccessreviews"): "metrics.secure",
}
"""The features with rights of their own; all others come with `rbac.create` alone."""

_READING: Final[dict[tuple[str, str], str]] = {("", "configmaps"): "modesConfigmap"}
"""Where another feature has the rights to list and watch."""

_ALWAYS: Final = "rbac.create"


def granting(verb: str, group: str, resource: str) -> str:
    """The chart's value on which it hangs whether the chart grants access to a resource."""
    if verb in ("list", "watch") and (group, resource) in _READING:
        return _READING[group, resource]
    return _VALUES.get((group, resource)) or _VALUES.get((group, "*")) or _ALWAYS


def advice(message: str) -> str:
    """What to add to the server's refusal of the controller's account; empty if it is about nothing known.

    The refusal names verb and resource.
    """
    found = _FORBIDDEN.search(message)
    if found is None:
        return ""
    value = granting(found["verb"], found["group"], found["resource"])
    others = "" if value == _ALWAYS else f" and the right value of {value}"
    return f" (the Helm chart grants it with rbac.create=true{others})"


def no_advice(_: str) -> str:
    """Nothing: the chart does not grant what the account of whoever types a command lacks."""
    return ""
