"""Schemas of what a cluster has beside workloads: namespaces, nodes, configuration, service accounts, ingresses."""

from __future__ import annotations

from controller.lab.schema.metadata import LOCAL_REFERENCE, OBJECT_REFERENCE, conditions, top_level
from controller.lab.schema.types import (
    ANY,
    BOOLEAN,
    BYTES,
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
_NETWORKING = "io.k8s.api.networking.v1"

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
