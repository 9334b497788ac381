"""What a check-up looks at: HPAs, their targets, the metrics APIs, and what a controller knows."""

from collections.abc import Mapping
from typing import Final

import msgspec

from controller.decide.observed import PodRequests
from controller.decide.requests import effective_nano, has_pod_level
from controller.decide.selectors import Selector
from controller.decide.spec import Gates, Reference, Spec
from controller.decide.status import Status
from controller.explain.rows import Row

TargetKey = tuple[str, str, str, str]
"""Group, kind, namespace and name of a scale target."""


class Target(msgspec.Struct, frozen=True):
    """A scale target.

    Attributes:
        exists: whether there is such an object; `scalable` whether its kind has a scale subresource. Both None when
            that could not be found out.
        selector: of its pods, None when unknown; `labels` those of its pod template.
        requests: what its pods request, None when unknown.
        replicas_from: what sets `spec.replicas` besides the scale subresource: a manifest that was applied; or empty.
    """

    exists: bool | None = None
    scalable: bool | None = None
    selector: Selector | None = None
    labels: Mapping[str, str] = {}
    requests: PodRequests | None = None
    replicas_from: str = ""


class Patient(msgspec.Struct, frozen=True):
    """One HPA; `problem` says why it could not be understood, None if it could."""

    namespace: str
    name: str
    spec: Spec
    status: Status = Status()
    problem: str | None = None

    @property
    def key(self) -> str:
        """`namespace/name`."""
        return f"{self.namespace}/{self.name}"

    @property
    def target(self) -> TargetKey:
        """What it scales."""
        return target_key(self.namespace, self.spec.target)


class Facts(msgspec.Struct, frozen=True):
    """A cluster and the HPAs in it.

    Attributes:
        targets: by key; one that is not in it was not looked for.
        served: group/versions that the API server lists; None when it did not say.
        unavailable: metrics APIs that are registered but do not work, by group/version, with the reason.
        rows: what a controller knows of HPAs, by namespace/name; None when none was asked.
        gates: those of that controller; `from_apis` as in Rows. None when none was asked.
        missing: what could not be looked at, in words.
    """

    patients: tuple[Patient, ...]
    targets: Mapping[TargetKey, Target] = {}
    served: frozenset[str] | None = None
    unavailable: Mapping[str, str] = {}
    rows: Mapping[str, Row] | None = None
    gates: Gates | None = None
    from_apis: tuple[str, ...] | None = None
    missing: tuple[str, ...] = ()


CORE_SCALABLE: Final = {
    ("apps", "Deployment"): "deployments",
    ("apps", "StatefulSet"): "statefulsets",
    ("apps", "ReplicaSet"): "replicasets",
    ("", "ReplicationController"): "replicationcontrollers",
}
"""Kinds that always have a scale subresource, and the names of their resources."""

_IN_LOWER_CASE: Final = {(group, kind.lower()): kind for group, kind in CORE_SCALABLE}
"""A reference may write them so: client-go's discovery knows kinds under both names."""


def target_key(namespace: str, reference: Reference) -> TargetKey:
    """The key of an HPA's target; the version does not tell targets apart, nor a kind of Kubernetes' in lower case."""
    group = reference.api_version.rpartition("/")[0]
    return group, _IN_LOWER_CASE.get((group, reference.kind), reference.kind), namespace, reference.name


def lacking(requests: PodRequests, resource: str, container: str) -> tuple[str, ...]:
    """The containers without a request of the resource that a utilization of it needs (§9); empty when none lacks."""
    if not container and has_pod_level(requests) and effective_nano(requests, resource) is not None:
        return ()
    sidecars = tuple(one for one in requests.init_containers if one.restartable)
    counted = (*requests.containers, *sidecars)
    return tuple(one.name for one in counted if container in ("", one.name) and resource not in one.requests_nano)
