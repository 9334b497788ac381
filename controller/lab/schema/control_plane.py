"""Schemas of what the control plane works with: events, leases, access reviews, custom resource definitions."""

from __future__ import annotations

from controller.lab.schema.metadata import OBJECT_REFERENCE, conditions, top_level
from controller.lab.schema.types import (
    ANY,
    BOOLEAN,
    INT32,
    MICRO_TIME,
    STRING,
    TIME,
    ListOf,
    MapOf,
    Message,
    always,
    plain,
    pointer,
)

_CORE = "io.k8s.api.core.v1"
_EVENTS = "io.k8s.api.events.v1"
_COORDINATION = "io.k8s.api.coordination.v1"
_AUTHORIZATION = "io.k8s.api.authorization.v1"
_EXTENSIONS = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1"

_EVENT_SOURCE = Message(
    f"{_CORE}.EventSource",
    "Who reported.",
    {"component": plain(STRING, "The program."), "host": plain(STRING, "The machine.")},
)

EVENT = top_level(
    f"{_CORE}.Event",
    "A report that something happened.",
    {
        "involvedObject": always(OBJECT_REFERENCE, "What the report is about.", required=True),
        "reason": plain(STRING, "What happened, in one word."),
        "message": plain(STRING, "What happened, for people."),
        "source": always(_EVENT_SOURCE, "Who reported."),
        "firstTimestamp": always(TIME, "When it happened first."),
        "lastTimestamp": always(TIME, "When it happened last."),
        "count": plain(INT32, "How often it happened."),
        "type": plain(STRING, "Normal or Warning."),
        "eventTime": always(MICRO_TIME, "When it happened first, exactly."),
        "series": pointer(
            Message(
                f"{_CORE}.EventSeries",
                "How often it happened, and when last.",
                {
                    "count": plain(INT32, "How often."),
                    "lastObservedTime": always(MICRO_TIME, "When last."),
                },
            ),
            "Filled when it keeps happening.",
        ),
        "action": plain(STRING, "What was done."),
        "related": pointer(OBJECT_REFERENCE, "Another object that is concerned."),
        "reportingComponent": always(STRING, "The controller that reported."),
        "reportingInstance": always(STRING, "Which instance of it."),
    },
)

EVENT_V1 = top_level(
    f"{_EVENTS}.Event",
    "A report that something happened.",
    {
        "eventTime": always(MICRO_TIME, "When it happened first, exactly.", required=True),
        "series": pointer(
            Message(
                f"{_EVENTS}.EventSeries",
                "How often it happened, and when last.",
                {
                    "count": always(INT32, "How often.", required=True),
                    "lastObservedTime": always(MICRO_TIME, "When last.", required=True),
                },
            ),
            "Filled when it keeps happening.",
        ),
        "reportingController": plain(STRING, "The controller that reported."),
        "reportingInstance": plain(STRING, "Which instance of it."),
        "action": plain(STRING, "What was done."),
        "reason": plain(STRING, "What happened, in one word."),
        "regarding": always(OBJECT_REFERENCE, "What the report is about."),
        "related": pointer(OBJECT_REFERENCE, "Another object that is concerned."),
        "note": plain(STRING, "What happened, for people."),
        "type": plain(STRING, "Normal or Warning."),
        "deprecatedSource": always(_EVENT_SOURCE, "Who reported, in the older form."),
        "deprecatedFirstTimestamp": always(TIME, "When it happened first, in the older form."),
        "deprecatedLastTimestamp": always(TIME, "When it happened last, in the older form."),
        "deprecatedCount": plain(INT32, "How often it happened, in the older form."),
    },
)

LEASE = top_level(
    f"{_COORDINATION}.Lease",
    "A claim that one of several holders may make.",
    {
        "spec": always(
            Message(
                f"{_COORDINATION}.LeaseSpec",
                "Who holds it and since when.",
                {
                    "holderIdentity": pointer(STRING, "Who holds it."),
                    "leaseDurationSeconds": pointer(INT32, "Seconds after the last renewal for which it holds."),
                    "acquireTime": pointer(MICRO_TIME, "When the holder got it."),
                    "renewTime": pointer(MICRO_TIME, "When the holder renewed it last."),
                    "leaseTransitions": pointer(INT32, "How often the holder changed."),
                    "strategy": pointer(STRING, "How the holder is chosen."),
                    "preferredHolder": pointer(STRING, "Who should get it next."),
                },
            ),
            "Who holds it and since when.",
        )
    },
)

SELF_SUBJECT_ACCESS_REVIEW = top_level(
    f"{_AUTHORIZATION}.SelfSubjectAccessReview",
    "The question whether the caller may do something.",
    {
        "spec": always(
            Message(
                f"{_AUTHORIZATION}.SelfSubjectAccessReviewSpec",
                "What is to be done.",
                {
                    "resourceAttributes": pointer(
                        Message(
                            f"{_AUTHORIZATION}.ResourceAttributes",
                            "An action on a resource.",
                            {
                                "namespace": plain(STRING, "Namespace; empty for all."),
                                "verb": plain(STRING, "Verb of the API."),
                                "group": plain(STRING, "API group."),
                                "version": plain(STRING, "API version."),
                                "resource": plain(STRING, "Resource."),
                                "subresource": plain(STRING, "Subresource."),
                                "name": plain(STRING, "Name of the object; empty for all."),
                                "fieldSelector": pointer(ANY, "Which objects, by fields."),
                                "labelSelector": pointer(ANY, "Which objects, by labels."),
                            },
                        ),
                        "With a resource.",
                    ),
                    "nonResourceAttributes": pointer(
                        Message(
                            f"{_AUTHORIZATION}.NonResourceAttributes",
                            "An action on a path.",
                            {
                                "path": plain(STRING, "The path."),
                                "verb": plain(STRING, "The method, in lower case."),
                            },
                        ),
                        "With a path.",
                    ),
                },
            ),
            "What is to be done.",
            required=True,
        ),
        "status": always(
            Message(
                f"{_AUTHORIZATION}.SubjectAccessReviewStatus",
                "The answer.",
                {
                    "allowed": always(BOOLEAN, "Whether it may be done.", required=True),
                    "denied": plain(BOOLEAN, "Whether it was refused expressly."),
                    "reason": plain(STRING, "Why."),
                    "evaluationError": plain(STRING, "What went wrong while deciding."),
                },
            ),
            "The answer.",
        ),
    },
)

CUSTOM_RESOURCE_DEFINITION = top_level(
    f"{_EXTENSIONS}.CustomResourceDefinition",
    "Makes the server serve a further kind.",
    {
        "spec": always(
            Message(
                f"{_EXTENSIONS}.CustomResourceDefinitionSpec",
                "The kind that is served.",
                {
                    "group": always(STRING, "API group.", required=True),
                    "names": always(
                        MapOf(ANY), "plural, singular, kind, listKind, shortNames, categories.", required=True
                    ),
                    "scope": always(STRING, "Namespaced or Cluster.", required=True),
                    "versions": always(ListOf(MapOf(ANY)), "The versions and their subresources.", required=True),
                    "conversion": pointer(ANY, "How versions are converted; the lab only knows None."),
                    "preserveUnknownFields": plain(BOOLEAN, "No longer used."),
                },
            ),
            "The kind that is served.",
            required=True,
        ),
        "status": always(
            Message(
                f"{_EXTENSIONS}.CustomResourceDefinitionStatus",
                "Whether it is served.",
                {
                    "conditions": conditions(f"{_EXTENSIONS}.CustomResourceDefinition"),
                    "acceptedNames": always(MapOf(ANY), "The names in use."),
                    "storedVersions": always(ListOf(STRING), "Versions that objects were stored in."),
                },
                open=True,
            ),
            "Whether it is served.",
        ),
    },
)
