"""Schemas of the remaining kinds.

Namespaces, nodes, configuration, events, leases, reviews, custom resources.
"""

from __future__ import annotations

from controller.lab.schema.metadata import LOCAL_REFERENCE, OBJECT_REFERENCE, conditions, top_level
from controller.lab.schema.types import (
    ANY,
    BOOLEAN,
    BYTES,
    INT32,
    MICRO_TIME,
    QUANTITIES,
    STRING,
    STRING_MAP,
    STRINGS,
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
_NETWORKING = "io.k8s.api.networking.v1"
_EXTENSIONS = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1"

NAMESPACE = top_level(
    f"{_CORE}.Namespace",
    "A scope for names.",
    {
        "spec": always(
            Message(
                f"{_CORE}.NamespaceSpec",
                "What is wanted.",
                {"finalizers": plain(STRINGS, "Names that must be removed before it goes.")},
            ),
            "What is wanted.",
        ),
        "status": always(
            Message(
                f"{_CORE}.NamespaceStatus",
                "What there is.",
                {
                    "phase": plain(STRING, "Active or Terminating."),
                    "conditions": conditions(f"{_CORE}.Namespace"),
                },
            ),
            "What there is.",
        ),
    },
)

NODE = top_level(
    f"{_CORE}.Node",
    "A machine that runs pods.",
    {
        "spec": always(
            Message(
                f"{_CORE}.NodeSpec",
                "What is wanted.",
                {
                    "podCIDR": plain(STRING, "Addresses of its pods."),
                    "podCIDRs": plain(ListOf(STRING, merge_key="*"), "Addresses of its pods."),
                    "providerID": plain(STRING, "The machine as its provider knows it."),
                    "unschedulable": plain(BOOLEAN, "Whether new pods stay away."),
                    "taints": plain(ListOf(ANY), "What keeps pods away."),
                    "configSource": pointer(ANY, "No longer used."),
                    "externalID": plain(STRING, "No longer used."),
                },
            ),
            "What is wanted.",
        ),
        "status": always(
            Message(
                f"{_CORE}.NodeStatus",
                "What there is.",
                {
                    "capacity": plain(QUANTITIES, "Resources of the machine."),
                    "allocatable": plain(QUANTITIES, "Resources left for pods."),
                    "phase": plain(STRING, "No longer used."),
                    "conditions": conditions(
                        f"{_CORE}.Node", {"lastHeartbeatTime": always(TIME, "When the node reported last.")}
                    ),
                    "addresses": plain(ListOf(ANY, merge_key="type", map_keys=("type",)), "Addresses of the machine."),
                    "daemonEndpoints": always(MapOf(ANY), "Where its kubelet listens."),
                    "nodeInfo": always(MapOf(ANY), "Versions of what runs on it."),
                },
                open=True,
            ),
            "What there is.",
        ),
    },
)

SECRET = top_level(
    f"{_CORE}.Secret",
    "Data that few may see.",
    {
        "immutable": pointer(BOOLEAN, "Whether it can never be changed."),
        "data": plain(MapOf(BYTES), "The data, each value in base64."),
        "stringData": plain(STRING_MAP, "Data as plain text; moved into data on writing."),
        "type": plain(STRING, "What the data is for."),
    },
)

INGRESS = top_level(
    f"{_NETWORKING}.Ingress",
    "The way from outside to services; something object metrics describe. No traffic passes it in the lab.",
    {
        "spec": always(
            Message(
                f"{_NETWORKING}.IngressSpec",
                "What is wanted.",
                {
                    "ingressClassName": pointer(STRING, "Who carries it out."),
                    "defaultBackend": pointer(MapOf(ANY), "Where requests go that no rule knows."),
                    "tls": plain(ListOf(ANY), "Hosts with their certificates."),
                    "rules": plain(ListOf(ANY), "Hosts and paths with their services."),
                },
            ),
            "What is wanted.",
        ),
        "status": always(
            Message(
                f"{_NETWORKING}.IngressStatus",
                "What there is.",
                {"loadBalancer": always(MapOf(ANY), "Where the load balancer is.")},
            ),
            "What there is.",
        ),
    },
)

CONFIG_MAP = top_level(
    f"{_CORE}.ConfigMap",
    "Configuration as text.",
    {
        "immutable": pointer(BOOLEAN, "Whether it can never be changed."),
        "data": plain(STRING_MAP, "The texts."),
        "binaryData": plain(MapOf(BYTES), "What is not text, in base64."),
    },
)

SERVICE_ACCOUNT = top_level(
    f"{_CORE}.ServiceAccount",
    "An identity for pods.",
    {
        "secrets": plain(
            ListOf(OBJECT_REFERENCE, merge_key="name", map_keys=("name",)), "Secrets that its pods may use."
        ),
        "imagePullSecrets": plain(ListOf(LOCAL_REFERENCE), "Secrets for pulling images."),
        "automountServiceAccountToken": pointer(BOOLEAN, "Whether its pods see a token."),
    },
)

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
