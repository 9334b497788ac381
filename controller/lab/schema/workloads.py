"""Schemas of what owns pods: Deployment, ReplicaSet, StatefulSet, ReplicationController."""

from __future__ import annotations

from controller.lab.schema.metadata import LABEL_SELECTOR, conditions, top_level
from controller.lab.schema.pods import POD_TEMPLATE
from controller.lab.schema.types import (
    ANY,
    BOOLEAN,
    INT32,
    INT64,
    INT_OR_STRING,
    STRING,
    STRING_MAP,
    TIME,
    Field,
    ListOf,
    Message,
    always,
    plain,
    pointer,
)

_APPS = "io.k8s.api.apps.v1"
_CORE = "io.k8s.api.core.v1"

_REPLICAS = pointer(INT32, "How many pods there should be; 1 when absent.")
_SELECTOR = pointer(LABEL_SELECTOR, "Which pods belong to it; cannot be changed.", required=True)
_TEMPLATE = always(POD_TEMPLATE, "What its pods look like.", required=True)
_MIN_READY = plain(INT32, "Seconds a pod must be ready before it counts as available.")
_HISTORY = pointer(INT32, "How many old revisions are kept.")
_COLLISIONS = pointer(INT32, "How often a generated name was taken.")
_OBSERVED = plain(INT64, "The generation its controller has seen.")
_READY = plain(INT32, "Pods that are ready.")
_AVAILABLE = plain(INT32, "Pods that have been ready for long enough.")
_UPDATED = plain(INT32, "Pods of the present template.")
_TERMINATING = pointer(INT32, "Pods that are ending.")
_COUNT = "Pods that belong to it."


def _kind(package: str, kind: str, description: str, spec: dict[str, Field], status: dict[str, Field]) -> Message:
    return top_level(
        f"{package}.{kind}",
        description,
        {
            "spec": always(Message(f"{package}.{kind}Spec", "What is wanted.", spec), "What is wanted."),
            "status": always(Message(f"{package}.{kind}Status", "What there is.", status), "What there is."),
        },
    )


def _rolling(owner: str, pace: str, fields: dict[str, Field]) -> Message:
    return Message(
        f"{_APPS}.{owner}",
        "How pods of an old template are replaced.",
        {
            "type": plain(STRING, "RollingUpdate, or Recreate (Deployment), or OnDelete (StatefulSet)."),
            "rollingUpdate": pointer(
                Message(f"{_APPS}.{pace}", "The pace of a rolling update.", fields),
                "The pace, for type RollingUpdate.",
            ),
        },
    )


DEPLOYMENT = _kind(
    _APPS,
    "Deployment",
    "Pods of one template, replaced step by step when it changes.",
    {
        "replicas": _REPLICAS,
        "selector": _SELECTOR,
        "template": _TEMPLATE,
        "strategy": always(
            _rolling(
                "DeploymentStrategy",
                "RollingUpdateDeployment",
                {
                    "maxUnavailable": pointer(INT_OR_STRING, "How many pods may be missing, or which share."),
                    "maxSurge": pointer(INT_OR_STRING, "How many pods may be too many, or which share."),
                },
            ),
            "How pods are replaced.",
        ),
        "minReadySeconds": _MIN_READY,
        "revisionHistoryLimit": _HISTORY,
        "paused": plain(BOOLEAN, "Whether changes of the template wait."),
        "progressDeadlineSeconds": pointer(INT32, "Seconds without progress after which a rollout has failed."),
    },
    {
        "observedGeneration": _OBSERVED,
        "replicas": plain(INT32, _COUNT),
        "updatedReplicas": _UPDATED,
        "readyReplicas": _READY,
        "availableReplicas": _AVAILABLE,
        "unavailableReplicas": plain(INT32, "Pods that are missing."),
        "terminatingReplicas": _TERMINATING,
        "conditions": conditions(f"{_APPS}.Deployment", {"lastUpdateTime": always(TIME, "When it was updated last.")}),
        "collisionCount": _COLLISIONS,
    },
)

REPLICA_SET = _kind(
    _APPS,
    "ReplicaSet",
    "A number of equal pods.",
    {"replicas": _REPLICAS, "minReadySeconds": _MIN_READY, "selector": _SELECTOR, "template": _TEMPLATE},
    {
        "replicas": always(INT32, _COUNT, required=True),
        "fullyLabeledReplicas": plain(INT32, "Pods that carry all labels of the template."),
        "readyReplicas": _READY,
        "availableReplicas": _AVAILABLE,
        "terminatingReplicas": _TERMINATING,
        "observedGeneration": _OBSERVED,
        "conditions": conditions(f"{_APPS}.ReplicaSet"),
    },
)

STATEFUL_SET = _kind(
    _APPS,
    "StatefulSet",
    "Pods with lasting names and volumes.",
    {
        "replicas": _REPLICAS,
        "selector": _SELECTOR,
        "template": _TEMPLATE,
        "volumeClaimTemplates": plain(ListOf(ANY), "Volumes of each pod."),
        "serviceName": always(STRING, "The service that names the pods."),
        "podManagementPolicy": plain(STRING, "OrderedReady or Parallel."),
        "updateStrategy": always(
            _rolling(
                "StatefulSetUpdateStrategy",
                "RollingUpdateStatefulSetStrategy",
                {
                    "partition": pointer(INT32, "The ordinal from which pods are updated."),
                    "maxUnavailable": pointer(INT_OR_STRING, "How many pods may be missing, or which share."),
                },
            ),
            "How pods are replaced.",
        ),
        "revisionHistoryLimit": _HISTORY,
        "minReadySeconds": _MIN_READY,
        "persistentVolumeClaimRetentionPolicy": pointer(ANY, "What becomes of the volumes."),
        "ordinals": pointer(ANY, "Where counting starts."),
    },
    {
        "observedGeneration": _OBSERVED,
        "replicas": always(INT32, _COUNT, required=True),
        "readyReplicas": _READY,
        "currentReplicas": plain(INT32, "Pods of the current revision."),
        "updatedReplicas": _UPDATED,
        "currentRevision": plain(STRING, "The current revision."),
        "updateRevision": plain(STRING, "The revision that is being rolled out."),
        "collisionCount": _COLLISIONS,
        "conditions": conditions(f"{_APPS}.StatefulSet"),
        "availableReplicas": always(INT32, "Pods that have been ready for long enough."),
    },
)

REPLICATION_CONTROLLER = _kind(
    _CORE,
    "ReplicationController",
    "A number of equal pods; the oldest form.",
    {
        "replicas": _REPLICAS,
        "minReadySeconds": _MIN_READY,
        "selector": plain(STRING_MAP, "Labels of its pods."),
        "template": pointer(POD_TEMPLATE, "What its pods look like."),
    },
    {
        "replicas": always(INT32, _COUNT, required=True),
        "fullyLabeledReplicas": plain(INT32, "Pods that carry all labels of the template."),
        "readyReplicas": _READY,
        "availableReplicas": _AVAILABLE,
        "observedGeneration": _OBSERVED,
        "conditions": conditions(f"{_CORE}.ReplicationController"),
    },
)
