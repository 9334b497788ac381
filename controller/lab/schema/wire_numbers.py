"""The numbers under which fields of built-in kinds stand in protobuf bodies.

Each message is followed by its fields; one without a number has that of the field before it plus one.
"""

from __future__ import annotations

_PACKAGES = {
    "io.k8s.api.core.v1": """
        Pod: metadata spec status
        PodSpec: volumes initContainers=20 containers=2 ephemeralContainers=34 restartPolicy=3
            terminationGracePeriodSeconds activeDeadlineSeconds dnsPolicy nodeSelector
            serviceAccountName serviceAccount automountServiceAccountToken=21 nodeName=10
            hostNetwork hostPID hostIPC shareProcessNamespace=27 securityContext=14 imagePullSecrets
            hostname subdomain affinity schedulerName tolerations=22 hostAliases priorityClassName
            priority dnsConfig readinessGates=28 runtimeClassName enableServiceLinks
            preemptionPolicy overhead topologySpreadConstraints setHostnameAsFQDN=35 os hostUsers
            schedulingGates resourceClaims resources hostnameOverride schedulingGroup=43
        Container: name image command args workingDir ports envFrom=19 env=7 resources
            resizePolicy=23 restartPolicy restartPolicyRules volumeMounts=9 volumeDevices=21
            livenessProbe=10 readinessProbe startupProbe=22 lifecycle=12 terminationMessagePath
            terminationMessagePolicy=20 imagePullPolicy=14 securityContext stdin stdinOnce tty
        ContainerPort: name hostPort containerPort protocol hostIP
        EnvVar: name value valueFrom
        ResourceRequirements: limits requests claims
        Probe: initialDelaySeconds=2 timeoutSeconds periodSeconds successThreshold failureThreshold
            terminationGracePeriodSeconds
        LocalObjectReference: name
        PodStatus: observedGeneration=17 phase=1 conditions message reason nominatedNodeName=11
            hostIP=5 hostIPs=16 podIP=6 podIPs=12 startTime=7 initContainerStatuses=10
            containerStatuses=8 qosClass ephemeralContainerStatuses=13 resize resourceClaimStatuses
            extendedResourceClaimStatus=18 allocatedResources resources
            nodeAllocatableResourceClaimStatuses
        PodCondition: type observedGeneration=7 status=2 lastProbeTime lastTransitionTime reason
            message
        ContainerStatus: name state lastState ready restartCount image imageID containerID started
            allocatedResources resources volumeMounts user allocatedResourcesStatus stopSignal
        Service: metadata spec status
        ServiceSpec: ports selector clusterIP clusterIPs=18 type=4 externalIPs sessionAffinity=7
            loadBalancerIP loadBalancerSourceRanges externalName externalTrafficPolicy
            healthCheckNodePort publishNotReadyAddresses sessionAffinityConfig ipFamilies=19
            ipFamilyPolicy=17 allocateLoadBalancerNodePorts=20 loadBalancerClass
            internalTrafficPolicy trafficDistribution
        ServicePort: name protocol appProtocol=6 port=3 targetPort nodePort
        ServiceStatus: loadBalancer conditions
        ReplicationController: metadata spec status
        ReplicationControllerSpec: replicas minReadySeconds=4 selector=2 template
        PodTemplateSpec: metadata spec
        ReplicationControllerStatus: replicas fullyLabeledReplicas readyReplicas=4 availableReplicas
            observedGeneration=3 conditions=6
        ReplicationControllerCondition: type status lastTransitionTime reason message
        Event: metadata involvedObject reason message source firstTimestamp lastTimestamp count type
            eventTime series action related reportingComponent reportingInstance
        ObjectReference: kind namespace name uid apiVersion resourceVersion fieldPath
        EventSource: component host
        EventSeries: count lastObservedTime
        Namespace: metadata spec status
        NamespaceSpec: finalizers
        NamespaceStatus: phase conditions
        NamespaceCondition: type status lastTransitionTime=4 reason message
        Node: metadata spec status
        NodeSpec: podCIDR podCIDRs=7 providerID=3 unschedulable taints configSource externalID=2
        NodeStatus: capacity allocatable phase conditions addresses daemonEndpoints nodeInfo
        NodeCondition: type status lastHeartbeatTime lastTransitionTime reason message
        Secret: metadata immutable=5 data=2 stringData=4 type=3
        ConfigMap: metadata immutable=4 data=2 binaryData
        ServiceAccount: metadata secrets imagePullSecrets automountServiceAccountToken
    """,
    "io.k8s.apimachinery.pkg.apis.meta.v1": """
        ObjectMeta: name generateName namespace selfLink uid resourceVersion generation
            creationTimestamp deletionTimestamp deletionGracePeriodSeconds labels annotations
            ownerReferences finalizers managedFields=17
        OwnerReference: apiVersion=5 kind=1 name=3 uid controller=6 blockOwnerDeletion
        ManagedFieldsEntry: manager operation apiVersion time fieldsType=6 fieldsV1 subresource
        LabelSelector: matchLabels matchExpressions
        LabelSelectorRequirement: key operator values
        DeleteOptions: gracePeriodSeconds preconditions orphanDependents propagationPolicy dryRun
            ignoreStoreReadErrorWithClusterBreakingPotential
        Preconditions: uid resourceVersion
    """,
    "io.k8s.api.apps.v1": """
        Deployment: metadata spec status
        DeploymentSpec: replicas selector template strategy minReadySeconds revisionHistoryLimit
            paused progressDeadlineSeconds=9
        DeploymentStrategy: type rollingUpdate
        RollingUpdateDeployment: maxUnavailable maxSurge
        DeploymentStatus: observedGeneration replicas updatedReplicas readyReplicas=7
            availableReplicas=4 unavailableReplicas terminatingReplicas=9 conditions=6
            collisionCount=8
        DeploymentCondition: type status lastUpdateTime=6 lastTransitionTime reason=4 message
        ReplicaSet: metadata spec status
        ReplicaSetSpec: replicas minReadySeconds=4 selector=2 template
        ReplicaSetStatus: replicas fullyLabeledReplicas readyReplicas=4 availableReplicas
            terminatingReplicas=7 observedGeneration=3 conditions=6
        ReplicaSetCondition: type status lastTransitionTime reason message
        StatefulSet: metadata spec status
        StatefulSetSpec: replicas selector template volumeClaimTemplates serviceName
            podManagementPolicy updateStrategy revisionHistoryLimit minReadySeconds
            persistentVolumeClaimRetentionPolicy ordinals
        StatefulSetUpdateStrategy: type rollingUpdate
        RollingUpdateStatefulSetStrategy: partition maxUnavailable
        StatefulSetStatus: observedGeneration replicas readyReplicas currentReplicas updatedReplicas
            currentRevision updateRevision collisionCount=9 conditions availableReplicas
        StatefulSetCondition: type status lastTransitionTime reason message
    """,
    "io.k8s.api.events.v1": """
        Event: metadata eventTime series reportingController reportingInstance action reason
            regarding related note type deprecatedSource deprecatedFirstTimestamp
            deprecatedLastTimestamp deprecatedCount
        EventSeries: count lastObservedTime
    """,
    "io.k8s.api.authorization.v1": """
        SelfSubjectAccessReview: metadata spec status
        SelfSubjectAccessReviewSpec: resourceAttributes nonResourceAttributes
        ResourceAttributes: namespace verb group version resource subresource name fieldSelector
            labelSelector
        NonResourceAttributes: path verb
        SubjectAccessReviewStatus: allowed denied=4 reason=2 evaluationError
    """,
    "io.k8s.api.autoscaling.v2": """
        HorizontalPodAutoscaler: metadata spec status
        HorizontalPodAutoscalerSpec: scaleTargetRef minReplicas maxReplicas metrics behavior
        CrossVersionObjectReference: kind name apiVersion
        MetricSpec: type object pods resource containerResource=7 external=5
        ObjectMetricSource: describedObject target metric
        MetricTarget: type value averageValue averageUtilization
        MetricIdentifier: name selector
        PodsMetricSource: metric target
        ResourceMetricSource: name target
        ContainerResourceMetricSource: name target container
        ExternalMetricSource: metric target
        HorizontalPodAutoscalerBehavior: scaleUp scaleDown
        HPAScalingRules: stabilizationWindowSeconds=3 selectPolicy=1 policies tolerance=4
        HPAScalingPolicy: type value periodSeconds
        HorizontalPodAutoscalerStatus: observedGeneration lastScaleTime currentReplicas
            desiredReplicas currentMetrics conditions
        MetricStatus: type object pods resource containerResource=7 external=5
        ObjectMetricStatus: metric current describedObject
        MetricValueStatus: value averageValue averageUtilization
        PodsMetricStatus: metric current
        ResourceMetricStatus: name current
        ContainerResourceMetricStatus: name current container
        ExternalMetricStatus: metric current
        HorizontalPodAutoscalerCondition: type status lastTransitionTime reason message
    """,
    "io.k8s.api.autoscaling.v1": """
        HorizontalPodAutoscaler: metadata spec status
        HorizontalPodAutoscalerSpec: scaleTargetRef minReplicas maxReplicas
            targetCPUUtilizationPercentage
        CrossVersionObjectReference: kind name apiVersion
        HorizontalPodAutoscalerStatus: observedGeneration lastScaleTime currentReplicas
            desiredReplicas currentCPUUtilizationPercentage
        Scale: metadata spec status
        ScaleSpec: replicas
        ScaleStatus: replicas selector
    """,
    "io.k8s.api.coordination.v1": """
        Lease: metadata spec
        LeaseSpec: holderIdentity leaseDurationSeconds acquireTime renewTime leaseTransitions
            strategy preferredHolder
    """,
}


def _parse(text: str) -> dict[str, dict[int, str]]:
    messages: dict[str, dict[int, str]] = {}
    fields: dict[int, str] = {}
    number = 0
    for word in text.split():
        if word.endswith(":"):
            fields, number = messages.setdefault(word[:-1], {}), 0
            continue
        name, _, given = word.partition("=")
        number = int(given) if given else number + 1
        fields[number] = name
    return messages


FIELD_NAMES: dict[str, dict[int, str]] = {
    f"{package}.{name}": fields for package, text in _PACKAGES.items() for name, fields in _parse(text).items()
}
"""Number to name of the fields of each message, by its name in OpenAPI."""
