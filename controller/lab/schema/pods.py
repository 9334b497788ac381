"""Schemas of pods and pod templates; what only a kubelet reads is named but not looked into."""

from __future__ import annotations

from controller.lab.schema.metadata import LOCAL_REFERENCE, OBJECT_META, conditions, top_level
from controller.lab.schema.types import (
    ANY,
    BOOLEAN,
    INT32,
    INT64,
    INT_OR_STRING,
    QUANTITIES,
    STRING,
    STRING_MAP,
    STRINGS,
    TIME,
    Field,
    ListOf,
    MapOf,
    Message,
    always,
    plain,
    pointer,
)

_CORE = "io.k8s.api.core.v1"


def _unread(*names: str) -> dict[str, Field]:
    return {name: pointer(ANY, "Kept as it is; nothing in the lab reads it.") for name in names}


_REQUIREMENTS = Message(
    f"{_CORE}.ResourceRequirements",
    "What is reserved and what is the most that may be used.",
    {
        "limits": plain(QUANTITIES, "The most that may be used, by resource."),
        "requests": plain(QUANTITIES, "What is reserved, by resource; utilization targets are percentages of it."),
        **_unread("claims"),
    },
)

_PROBE = Message(
    f"{_CORE}.Probe",
    "How the health of a container is found out.",
    {
        **_unread("exec", "httpGet", "tcpSocket", "grpc"),
        "initialDelaySeconds": plain(INT32, "Seconds before the first probe."),
        "timeoutSeconds": plain(INT32, "Seconds after which a probe has failed."),
        "periodSeconds": plain(INT32, "Seconds between probes."),
        "successThreshold": plain(INT32, "Successes in a row that count as healthy."),
        "failureThreshold": plain(INT32, "Failures in a row that count as unhealthy."),
        "terminationGracePeriodSeconds": pointer(INT64, "Seconds to end after a failed probe."),
    },
)

_PORT = Message(
    f"{_CORE}.ContainerPort",
    "A port a container listens on.",
    {
        "name": plain(STRING, "Name of the port."),
        "hostPort": plain(INT32, "Port of the node that leads here."),
        "containerPort": always(INT32, "The port.", required=True),
        "protocol": plain(STRING, "TCP, UDP or SCTP.", default="TCP"),
        "hostIP": plain(STRING, "Address of the node that leads here."),
    },
)

_ENVIRONMENT = Message(
    f"{_CORE}.EnvVar",
    "A variable of the environment.",
    {
        "name": always(STRING, "Name.", required=True),
        "value": plain(STRING, "Value."),
        **_unread("valueFrom"),
    },
)

CONTAINER = Message(
    f"{_CORE}.Container",
    "One container of a pod.",
    {
        "name": always(STRING, "Name, unique in the pod.", required=True),
        "image": plain(STRING, "Image the container runs."),
        "command": plain(STRINGS, "Program and arguments instead of the image's entry point."),
        "args": plain(STRINGS, "Arguments of the program."),
        "workingDir": plain(STRING, "Where the program starts."),
        "ports": plain(
            ListOf(_PORT, merge_key="containerPort", map_keys=("containerPort", "protocol")),
            "Ports it listens on.",
        ),
        "env": plain(ListOf(_ENVIRONMENT, merge_key="name", map_keys=("name",)), "Variables of its environment."),
        "resources": always(_REQUIREMENTS, "What it reserves and may use."),
        "restartPolicy": pointer(STRING, "Always makes an init container a sidecar."),
        "livenessProbe": pointer(_PROBE, "When it fails, the container is restarted."),
        "readinessProbe": pointer(_PROBE, "While it fails, the pod gets no traffic."),
        "startupProbe": pointer(_PROBE, "The other probes wait for it."),
        "terminationMessagePath": plain(STRING, "File with the reason of its end."),
        "terminationMessagePolicy": plain(STRING, "How that file is filled."),
        "imagePullPolicy": plain(STRING, "Always, Never or IfNotPresent."),
        "volumeMounts": plain(ListOf(ANY, merge_key="mountPath", map_keys=("mountPath",)), "Volumes that it sees."),
        "stdin": plain(BOOLEAN, "Whether its standard input stays open."),
        "stdinOnce": plain(BOOLEAN, "Whether its standard input closes after the first session."),
        "tty": plain(BOOLEAN, "Whether it has a terminal."),
        **_unread("envFrom", "resizePolicy", "restartPolicyRules", "volumeDevices", "lifecycle", "securityContext"),
    },
)

_CONTAINERS = ListOf(CONTAINER, merge_key="name", map_keys=("name",))

POD_SPEC = Message(
    f"{_CORE}.PodSpec",
    "What a pod runs and how.",
    {
        "volumes": plain(ListOf(ANY, merge_key="name", map_keys=("name",)), "What containers can mount."),
        "initContainers": plain(_CONTAINERS, "Containers that run before the others, in order."),
        "containers": always(_CONTAINERS, "The containers of the pod.", required=True),
        "ephemeralContainers": plain(ListOf(ANY, merge_key="name", map_keys=("name",)), "For debugging."),
        "restartPolicy": plain(STRING, "Always, OnFailure or Never."),
        "terminationGracePeriodSeconds": pointer(INT64, "Seconds the pod has to end after it was deleted."),
        "activeDeadlineSeconds": pointer(INT64, "Seconds after which the pod is ended."),
        "dnsPolicy": plain(STRING, "Which name servers the pod asks."),
        "nodeSelector": plain(STRING_MAP, "Labels a node must have."),
        "serviceAccountName": plain(STRING, "The identity of the pod."),
        "serviceAccount": plain(STRING, "The same, by its old name."),
        "automountServiceAccountToken": pointer(BOOLEAN, "Whether the pod sees a token of that identity."),
        "nodeName": plain(STRING, "The node the pod runs on."),
        "hostNetwork": plain(BOOLEAN, "Whether the pod uses the network of its node."),
        "hostPID": plain(BOOLEAN, "Whether the pod sees the processes of its node."),
        "hostIPC": plain(BOOLEAN, "Whether the pod shares IPC with its node."),
        "shareProcessNamespace": pointer(BOOLEAN, "Whether its containers see each other's processes."),
        "securityContext": pointer(ANY, "Security settings of the pod."),
        "imagePullSecrets": plain(
            ListOf(LOCAL_REFERENCE, merge_key="name", map_keys=("name",)), "Secrets for pulling images."
        ),
        "hostname": plain(STRING, "Host name of the pod."),
        "subdomain": plain(STRING, "Subdomain of the pod."),
        "schedulerName": plain(STRING, "Which scheduler places the pod."),
        "priorityClassName": plain(STRING, "How important the pod is."),
        "priority": pointer(INT32, "The same as a number."),
        "enableServiceLinks": pointer(BOOLEAN, "Whether services appear in the environment."),
        "preemptionPolicy": pointer(STRING, "Whether less important pods may be removed for it."),
        "overhead": plain(QUANTITIES, "Resources that running the pod needs by itself."),
        "resources": pointer(_REQUIREMENTS, "What the pod as a whole reserves and may use."),
        "readinessGates": plain(ListOf(ANY), "Further conditions for being ready."),
        "tolerations": plain(ListOf(ANY), "Taints of nodes that the pod accepts."),
        **_unread(
            "affinity", "hostAliases", "dnsConfig", "runtimeClassName", "topologySpreadConstraints",
            "setHostnameAsFQDN", "os", "hostUsers", "schedulingGates", "resourceClaims", "hostnameOverride",
            "schedulingGroup",
        ),
    },
)  # fmt: skip

POD_TEMPLATE = Message(
    f"{_CORE}.PodTemplateSpec",
    "What new pods look like.",
    {
        "metadata": always(OBJECT_META, "Labels and annotations of the pods."),
        "spec": always(POD_SPEC, "What the pods run."),
    },
)

_CONTAINER_STATUS = Message(
    f"{_CORE}.ContainerStatus",
    "What is known about a container.",
    {
        "name": always(STRING, "Name of the container.", required=True),
        "state": always(MapOf(ANY), "waiting, running or terminated."),
        "lastState": always(MapOf(ANY), "The state before the last restart."),
        "ready": always(BOOLEAN, "Whether its readiness probe succeeds.", required=True),
        "restartCount": always(INT32, "How often it was restarted.", required=True),
        "image": always(STRING, "The image it runs.", required=True),
        "imageID": always(STRING, "The image as the runtime knows it.", required=True),
        "containerID": plain(STRING, "The container as the runtime knows it."),
        "started": pointer(BOOLEAN, "Whether its startup probe has succeeded."),
        "allocatedResources": plain(QUANTITIES, "What the node reserved."),
        "resources": pointer(_REQUIREMENTS, "What is in force."),
        **_unread("volumeMounts", "user", "allocatedResourcesStatus", "stopSignal"),
    },
)

POD_STATUS = Message(
    f"{_CORE}.PodStatus",
    "What is known about a pod.",
    {
        "observedGeneration": plain(INT64, "The generation the kubelet has seen."),
        "phase": plain(STRING, "Pending, Running, Succeeded, Failed or Unknown."),
        "conditions": conditions(
            f"{_CORE}.Pod",
            {
                "observedGeneration": plain(INT64, "The generation that was looked at."),
                "lastProbeTime": always(TIME, "When it was looked at last."),
            },
        ),
        "message": plain(STRING, "Why the pod is in this state, for people."),
        "reason": plain(STRING, "The same in one word."),
        "nominatedNodeName": plain(STRING, "A node that is being cleared for the pod."),
        "hostIP": plain(STRING, "Address of the node."),
        "hostIPs": plain(ListOf(ANY), "Addresses of the node."),
        "podIP": plain(STRING, "Address of the pod."),
        "podIPs": plain(ListOf(ANY, merge_key="ip", map_keys=("ip",)), "Addresses of the pod."),
        "startTime": pointer(TIME, "When the kubelet took the pod."),
        "initContainerStatuses": plain(ListOf(_CONTAINER_STATUS), "The init containers."),
        "containerStatuses": plain(ListOf(_CONTAINER_STATUS), "The containers."),
        "qosClass": plain(STRING, "Guaranteed, Burstable or BestEffort."),
        "allocatedResources": plain(QUANTITIES, "What the node reserved."),
        "resources": pointer(_REQUIREMENTS, "What is in force."),
        **_unread(
            "ephemeralContainerStatuses", "resize", "resourceClaimStatuses", "extendedResourceClaimStatus",
            "nodeAllocatableResourceClaimStatuses",
        ),
    },
)  # fmt: skip

POD = top_level(
    f"{_CORE}.Pod",
    "Containers that run together on a node.",
    {"spec": always(POD_SPEC, "What is wanted."), "status": always(POD_STATUS, "What there is.")},
)

SERVICE = top_level(
    f"{_CORE}.Service",
    "A name and ports for a set of pods.",
    {
        "spec": always(
            Message(
                f"{_CORE}.ServiceSpec",
                "Which pods, under which ports.",
                {
                    "ports": plain(
                        ListOf(
                            Message(
                                f"{_CORE}.ServicePort",
                                "A port of a service.",
                                {
                                    "name": plain(STRING, "Name of the port."),
                                    "protocol": plain(STRING, "TCP, UDP or SCTP.", default="TCP"),
                                    "appProtocol": pointer(STRING, "What is spoken on the port."),
                                    "port": always(INT32, "The port.", required=True),
                                    "targetPort": always(INT_OR_STRING, "The port of the pods, or its name."),
                                    "nodePort": plain(INT32, "The port of every node that leads here."),
                                },
                            ),
                            merge_key="port",
                            map_keys=("port", "protocol"),
                        ),
                        "The ports.",
                    ),
                    "selector": plain(STRING_MAP, "Labels of the pods."),
                    "clusterIP": plain(STRING, "Address of the service; the lab gives none."),
                    "clusterIPs": plain(STRINGS, "Addresses of the service."),
                    "type": plain(STRING, "ClusterIP, NodePort, LoadBalancer or ExternalName."),
                    "externalIPs": plain(STRINGS, "Further addresses."),
                    "sessionAffinity": plain(STRING, "None or ClientIP."),
                    "externalName": plain(STRING, "The name an ExternalName service stands for."),
                    **_unread(
                        "loadBalancerIP", "loadBalancerSourceRanges", "externalTrafficPolicy",
                        "healthCheckNodePort", "publishNotReadyAddresses", "sessionAffinityConfig",
                        "ipFamilies", "ipFamilyPolicy", "allocateLoadBalancerNodePorts", "loadBalancerClass",
                        "internalTrafficPolicy", "trafficDistribution",
                    ),
                },
            ),
            "What is wanted.",
        ),
        "status": always(
            Message(
                f"{_CORE}.ServiceStatus",
                "What there is.",
                {"loadBalancer": always(MapOf(ANY), "Where the load balancer is."), **_unread("conditions")},
            ),
            "What there is.",
        ),
    },
)  # fmt: skip
