"""Schemas that all kinds share: metadata, label selectors, references, conditions."""

from __future__ import annotations

from controller.lab.schema.types import (
    ANY,
    BOOLEAN,
    INT32,
    INT64,
    STRING,
    STRING_MAP,
    STRINGS,
    TIME,
    Field,
    ListOf,
    Message,
    always,
    plain,
    pointer,
)

_META = "io.k8s.apimachinery.pkg.apis.meta.v1"

OWNER_REFERENCE = Message(
    f"{_META}.OwnerReference",
    "Names an object that this one belongs to; it goes when all of its owners have gone.",
    {
        "apiVersion": always(STRING, "API version of the owner.", required=True),
        "kind": always(STRING, "Kind of the owner.", required=True),
        "name": always(STRING, "Name of the owner.", required=True),
        "uid": always(STRING, "UID of the owner.", required=True),
        "controller": pointer(BOOLEAN, "True for the one owner that manages the object."),
        "blockOwnerDeletion": pointer(BOOLEAN, "Whether foreground deletion of the owner waits for this object."),
    },
)

MANAGED_FIELDS = Message(
    f"{_META}.ManagedFieldsEntry",
    "Which fields one writer is responsible for.",
    {
        "manager": plain(STRING, "Name of the writer."),
        "operation": plain(STRING, "Apply or Update."),
        "apiVersion": plain(STRING, "API version in which the fields are named."),
        "time": pointer(TIME, "When the entry changed last."),
        "fieldsType": plain(STRING, "Always FieldsV1."),
        "fieldsV1": pointer(ANY, "The fields, as a tree."),
        "subresource": plain(STRING, "The subresource that was written, if one was."),
    },
)

OBJECT_META = Message(
    f"{_META}.ObjectMeta",
    "What every stored object carries beside its content.",
    {
        "name": plain(STRING, "Unique among the objects of its kind in the namespace; cannot be changed."),
        "generateName": plain(STRING, "Prefix from which the server makes a name when none is given."),
        "namespace": plain(STRING, "The namespace the object lives in."),
        "selfLink": plain(STRING, "No longer filled."),
        "uid": plain(STRING, "Given by the server; tells this object from others of the same name."),
        "resourceVersion": plain(STRING, "Changes with every write; sent back, it guards against lost updates."),
        "generation": plain(INT64, "Counts changes of what is wanted."),
        "creationTimestamp": pointer(TIME, "When the object was created."),
        "deletionTimestamp": pointer(TIME, "When the object is to be gone; set by the server on deletion."),
        "deletionGracePeriodSeconds": pointer(INT64, "How long a deletion may take, in seconds."),
        "labels": plain(STRING_MAP, "Keys and values by which selectors find the object."),
        "annotations": plain(STRING_MAP, "Keys and values that nobody selects by."),
        "ownerReferences": plain(
            ListOf(OWNER_REFERENCE, merge_key="uid", map_keys=("uid",)), "The objects this one belongs to."
        ),
        "finalizers": plain(ListOf(STRING, merge_key="*"), "Names that must be removed before the object goes."),
        "managedFields": plain(ListOf(MANAGED_FIELDS), "Which writer is responsible for which fields."),
    },
)

LABEL_SELECTOR = Message(
    f"{_META}.LabelSelector",
    "Selects objects by their labels; all requirements must hold.",
    {
        "matchLabels": plain(STRING_MAP, "Labels that must have exactly these values."),
        "matchExpressions": plain(
            ListOf(
                Message(
                    f"{_META}.LabelSelectorRequirement",
                    "A requirement on one label.",
                    {
                        "key": always(STRING, "The label.", required=True),
                        "operator": always(STRING, "In, NotIn, Exists or DoesNotExist.", required=True),
                        "values": plain(STRINGS, "The values for In and NotIn."),
                    },
                )
            ),
            "Requirements that are more than equality.",
        ),
    },
)

LOCAL_REFERENCE = Message(
    "io.k8s.api.core.v1.LocalObjectReference",
    "Names an object of the same namespace.",
    {"name": plain(STRING, "Name of the object.")},
)

OBJECT_REFERENCE = Message(
    "io.k8s.api.core.v1.ObjectReference",
    "Names any object.",
    {
        "kind": plain(STRING, "Kind of the object."),
        "namespace": plain(STRING, "Namespace of the object."),
        "name": plain(STRING, "Name of the object."),
        "uid": plain(STRING, "UID of the object."),
        "apiVersion": plain(STRING, "API version of the object."),
        "resourceVersion": plain(STRING, "The version of the object that is meant."),
        "fieldPath": plain(STRING, "The part of the object that is meant."),
    },
)


def conditions(owner: str, extra: dict[str, Field] | None = None) -> Field:
    """The `conditions` of a status, keyed by type.

    `extra` are fields that only the conditions of this owner have.
    """
    fields = {
        "type": always(STRING, "What the condition is about.", required=True),
        "status": always(STRING, "True, False or Unknown.", required=True),
        **(extra or {}),
        "lastTransitionTime": always(TIME, "When the status changed last."),
        "reason": plain(STRING, "Why, in one word for programs."),
        "message": plain(STRING, "Why, in words for people."),
    }
    message = Message(f"{owner}Condition", "One thing that is known about the object.", fields)
    return plain(ListOf(message, merge_key="type", map_keys=("type",)), "What is known about the object.")


def top_level(name: str, description: str, fields: dict[str, Field]) -> Message:
    """The schema of a kind: its own fields after apiVersion, kind and metadata."""
    return Message(
        name,
        description,
        {
            "kind": plain(STRING, "The kind of the object."),
            "apiVersion": plain(STRING, "Group and version of the API in which the object is written."),
            "metadata": always(OBJECT_META, "Name, labels and what else every object carries."),
            **fields,
        },
    )


DELETE_OPTIONS = Message(
    f"{_META}.DeleteOptions",
    "How to delete.",
    {
        "kind": plain(STRING, "DeleteOptions."),
        "apiVersion": plain(STRING, "Group and version of the API."),
        "gracePeriodSeconds": pointer(INT64, "Seconds the object has to end."),
        "preconditions": pointer(
            Message(
                f"{_META}.Preconditions",
                "What must hold for the deletion.",
                {
                    "uid": pointer(STRING, "UID of the object."),
                    "resourceVersion": pointer(STRING, "Version of the object."),
                },
            ),
            "What must hold for the deletion.",
        ),
        "orphanDependents": pointer(BOOLEAN, "The older form of propagationPolicy."),
        "propagationPolicy": pointer(STRING, "Foreground, Background or Orphan."),
        "dryRun": plain(STRINGS, "All, to change nothing."),
        "ignoreStoreReadErrorWithClusterBreakingPotential": pointer(BOOLEAN, "Has no effect here."),
    },
)

SCALE = top_level(
    "io.k8s.api.autoscaling.v1.Scale",
    "The number of replicas of something that can be scaled.",
    {
        "spec": always(
            Message(
                "io.k8s.api.autoscaling.v1.ScaleSpec",
                "What is wanted.",
                {"replicas": plain(INT32, "How many replicas there should be.")},
            ),
            "What is wanted.",
        ),
        "status": always(
            Message(
                "io.k8s.api.autoscaling.v1.ScaleStatus",
                "What there is.",
                {
                    "replicas": always(INT32, "How many replicas there are.", required=True),
                    "selector": plain(STRING, "Label selector of the pods, as text."),
                },
            ),
            "What there is; cannot be written.",
        ),
    },
)
