"""The fields of HorizontalPodAutoscalers as the API server decodes them: autoscaling/v1, v2, and the v1 annotations."""

import enum
from typing import Final

import msgspec


class Scalar(enum.Enum):
    """A type without fields."""

    TEXT = enum.auto()
    INT32 = enum.auto()
    INT64 = enum.auto()
    BOOL = enum.auto()
    QUANTITY = enum.auto()
    TIME = enum.auto()
    ANY = enum.auto()


class Presence(enum.Enum):
    """What becomes of a field that is absent, null or empty (as Go's structs and their `omitempty` have it)."""

    ALWAYS = enum.auto()
    """Absent counts as the empty value, and that is stored."""
    FILLED = enum.auto()
    """The empty value counts as absent."""
    GIVEN = enum.auto()
    """Absent and empty are two things."""


class TextMap(msgspec.Struct, frozen=True):
    """An object from texts to texts; null is the empty text."""


class ListOf(msgspec.Struct, frozen=True):
    """A list; null as an item is the empty item."""

    item: "Kind"


class Record(msgspec.Struct, frozen=True):
    """An object with known fields."""

    fields: dict[str, "Field"]


Kind = Scalar | TextMap | ListOf | Record


class Field(msgspec.Struct, frozen=True):
    """A field's type and presence."""

    kind: Kind
    presence: Presence = Presence.GIVEN


def _always(kind: Kind) -> Field:
    return Field(kind, Presence.ALWAYS)


def _filled(kind: Kind) -> Field:
    return Field(kind, Presence.FILLED)


_TEXT: Final = Field(Scalar.TEXT, Presence.FILLED)
_TEXT_ALWAYS: Final = Field(Scalar.TEXT, Presence.ALWAYS)
_QUANTITY: Final = Field(Scalar.QUANTITY)
_INT32: Final = Field(Scalar.INT32)
_INT64: Final = Field(Scalar.INT64)
_TIME: Final = Field(Scalar.TIME)

SELECTOR: Final = Record(
    {
        "matchLabels": _filled(TextMap()),
        "matchExpressions": _filled(
            ListOf(
                Record({"key": _TEXT_ALWAYS, "operator": _TEXT_ALWAYS, "values": _filled(ListOf(Scalar.TEXT))}),
            )
        ),
    }
)
REFERENCE: Final = Record({"kind": _TEXT_ALWAYS, "name": _TEXT_ALWAYS, "apiVersion": _TEXT})

# --- metadata ------------------------------------------------------------------------------------

_OWNER: Final = Record(
    {
        "apiVersion": _TEXT_ALWAYS,
        "kind": _TEXT_ALWAYS,
        "name": _TEXT_ALWAYS,
        "uid": _TEXT_ALWAYS,
        "controller": Field(Scalar.BOOL),
        "blockOwnerDeletion": Field(Scalar.BOOL),
    }
)
_MANAGED: Final = Record(
    {
        "manager": _TEXT,
        "operation": _TEXT,
        "apiVersion": _TEXT,
        "time": _TIME,
        "fieldsType": _TEXT,
        "fieldsV1": Field(Scalar.ANY),
        "subresource": _TEXT,
    }
)
METADATA: Final = Record(
    {
        "name": _TEXT,
        "generateName": _TEXT,
        "namespace": _TEXT,
        "selfLink": _TEXT,
        "uid": _TEXT,
        "resourceVersion": _TEXT,
        "generation": _INT64,
        "creationTimestamp": _TIME,
        "deletionTimestamp": _TIME,
        "deletionGracePeriodSeconds": _INT64,
        "labels": _filled(TextMap()),
        "annotations": _filled(TextMap()),
        "ownerReferences": _filled(ListOf(_OWNER)),
        "finalizers": _filled(ListOf(Scalar.TEXT)),
        "managedFields": _filled(ListOf(_MANAGED)),
    }
)

# --- autoscaling/v2 ------------------------------------------------------------------------------

_IDENTIFIER: Final = Record({"name": _TEXT_ALWAYS, "selector": Field(SELECTOR)})
_TARGET: Final = Record(
    {"type": _TEXT_ALWAYS, "value": _QUANTITY, "averageValue": _QUANTITY, "averageUtilization": _INT32}
)
_VALUE: Final = Record({"value": _QUANTITY, "averageValue": _QUANTITY, "averageUtilization": _INT32})


def _sources(key: str, kind: Record) -> Record:
    """The five sources of a metric, of a spec (key `target`) or of a status (`current`)."""
    identified = {"metric": _always(_IDENTIFIER), key: _always(kind)}
    named = {"name": _TEXT_ALWAYS, key: _always(kind)}
    return Record(
        {
            "type": _TEXT_ALWAYS,
            "object": Field(Record({"describedObject": _always(REFERENCE)} | identified)),
            "pods": Field(Record(identified)),
            "resource": Field(Record(named)),
            "containerResource": Field(Record({"container": _TEXT_ALWAYS} | named)),
            "external": Field(Record(identified)),
        }
    )


_RULES: Final = Record(
    {
        "stabilizationWindowSeconds": _INT32,
        "selectPolicy": Field(Scalar.TEXT),
        "policies": Field(
            ListOf(
                Record(
                    {"type": _TEXT_ALWAYS, "value": _always(Scalar.INT32), "periodSeconds": _always(Scalar.INT32)},
                )
            )
        ),
        "tolerance": _QUANTITY,
    }
)
BEHAVIOR: Final = Record({"scaleUp": Field(_RULES), "scaleDown": Field(_RULES)})
_CONDITION: Final = Record(
    {"type": _TEXT_ALWAYS, "status": _TEXT_ALWAYS, "lastTransitionTime": _TIME, "reason": _TEXT, "message": _TEXT}
)
_SPEC: Final = Record(
    {
        "scaleTargetRef": _always(REFERENCE),
        "minReplicas": _INT32,
        "maxReplicas": _always(Scalar.INT32),
        "metrics": _filled(ListOf(_sources("target", _TARGET))),
        "behavior": Field(BEHAVIOR),
    }
)
_COUNTS: Final = {
    "observedGeneration": _INT64,
    "lastScaleTime": _TIME,
    "currentReplicas": _INT32,
    "desiredReplicas": _INT32,
}
_STATUS: Final = Record(
    _COUNTS
    | {"currentMetrics": _filled(ListOf(_sources("current", _VALUE))), "conditions": _filled(ListOf(_CONDITION))}
)

# --- autoscaling/v1 ------------------------------------------------------------------------------

_SPEC_V1: Final = Record(
    {
        "scaleTargetRef": _always(REFERENCE),
        "minReplicas": _INT32,
        "maxReplicas": _always(Scalar.INT32),
        "targetCPUUtilizationPercentage": _INT32,
    }
)
_RESOURCE_V1: Final = {
    "name": _TEXT_ALWAYS,
    "targetAverageUtilization": _INT32,
    "targetAverageValue": _QUANTITY,
}
METRICS_V1: Final = ListOf(
    Record(
        {
            "type": _TEXT_ALWAYS,
            "object": Field(
                Record(
                    {
                        "target": _always(REFERENCE),
                        "metricName": _TEXT_ALWAYS,
                        "targetValue": _always(Scalar.QUANTITY),
                        "selector": Field(SELECTOR),
                        "averageValue": _QUANTITY,
                    }
                )
            ),
            "pods": Field(
                Record(
                    {
                        "metricName": _TEXT_ALWAYS,
                        "targetAverageValue": _always(Scalar.QUANTITY),
                        "selector": Field(SELECTOR),
                    }
                )
            ),
            "resource": Field(Record(_RESOURCE_V1)),
            "containerResource": Field(Record(_RESOURCE_V1 | {"container": _TEXT_ALWAYS})),
            "external": Field(
                Record(
                    {
                        "metricName": _TEXT_ALWAYS,
                        "metricSelector": Field(SELECTOR),
                        "targetValue": _QUANTITY,
                        "targetAverageValue": _QUANTITY,
                    }
                )
            ),
        }
    )
)
"""The annotation `autoscaling.alpha.kubernetes.io/metrics`."""


def _autoscaler(spec: Record, status: Record) -> Record:
    return Record(
        {
            "apiVersion": _TEXT_ALWAYS,
            "kind": _TEXT_ALWAYS,
            "metadata": _always(METADATA),
            "spec": _always(spec),
            "status": _always(status),
        }
    )


GROUP: Final = "autoscaling"
KIND: Final = "HorizontalPodAutoscaler"
V1: Final = f"{GROUP}/v1"
V2: Final = f"{GROUP}/v2"
AUTOSCALERS: Final = {
    V1: _autoscaler(_SPEC_V1, Record(_COUNTS | {"currentCPUUtilizationPercentage": _INT32})),
    V2: _autoscaler(_SPEC, _STATUS),
}
"""By apiVersion, the versions that are served."""
