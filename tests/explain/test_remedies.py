"""What helps where a metric fails, for the errors that the core makes and those that API servers send."""

import pytest
from msgspec.structs import replace

from controller.decide.observed import ExternalReading, Pod, ReadFailure, Reading, ResourceReading
from controller.decide.spec import MetricSpec
from controller.explain.changes import Moment
from controller.explain.report import explained
from tests.builders import (
    container,
    container_metric,
    cpu,
    external_metric,
    history,
    hpa,
    now,
    object_metric,
    observation,
    pod,
    pods_metric,
    requests,
    scale,
    usage,
)

UNREQUESTED = pod(requests=requests(container(requests_milli={})))
DOWN = ReadFailure("the server is currently unable to handle the request (get pods.metrics.k8s.io)")
CASES: dict[str, tuple[MetricSpec, Reading, tuple[Pod, ...], str]] = {
    "no request": (
        cpu(60),
        usage(300),
        (UNREQUESTED,),
        "set resources.requests.cpu in the pod template, or target an averageValue",
    ),
    "no request of a container": (
        container_metric("app", 60),
        usage(300),
        (UNREQUESTED,),
        "set resources.requests.cpu in the pod template, or target an averageValue",
    ),
    "no such container": (
        container_metric("sidecar", 60),
        usage(300, containers=("sidecar",)),
        (pod(),),
        "name a container in the metric that the pods have",
    ),
    "no pods": (
        cpu(60),
        usage(300),
        (),
        "its pods do not come about, or bear other labels: look at the target's events and its selector",
    ),
    "no samples": (
        cpu(60),
        ResourceReading(()),
        (pod(),),
        "`kubectl top pods` shows which pods have been measured; new ones are after a minute or so",
    ),
    "nobody answers": (
        cpu(60),
        DOWN,
        (pod(),),
        "look at the pods and the Service behind metrics.k8s.io: `kubectl get apiservices` names it",
    ),
    "no such API": (
        cpu(60),
        ReadFailure("404 page not found"),
        (pod(),),
        "nobody serves metrics.k8s.io: install metrics-server",
    ),
    "no adapter": (
        external_metric(average_milli=1000),
        ReadFailure("the server could not find the requested resource"),
        (pod(),),
        "nobody serves external.metrics.k8s.io: install an adapter, such as KEDA or prometheus-adapter",
    ),
    "no such metric of pods": (
        pods_metric(1000),
        ReadFailure("the server could not find the metric requests for pods"),
        (pod(),),
        "`kubectl get --raw /apis/custom.metrics.k8s.io/v1beta1` lists the metrics that are served",
    ),
    "no such metric of an object": (
        object_metric(value_milli=1000),
        ReadFailure("the server could not find the metric hits for services front"),
        (pod(),),
        "`kubectl get --raw /apis/custom.metrics.k8s.io/v1beta1` lists the metrics that are served",
    ),
    "an annotation's query finds nothing": (
        external_metric(average_milli=1000),
        ExternalReading((), origin="annotation"),
        (pod(),),
        "no metrics API was asked: the query in the HPA's annotation finds nothing; try it in Prometheus",
    ),
    "a rule's query finds nothing": (
        cpu(60),
        ResourceReading((), origin="prometheus"),
        (pod(),),
        "no metrics API was asked: the query of the metric's rule finds nothing; try it in Prometheus",
    ),
    "another source has nothing": (
        external_metric(average_milli=1000),
        ExternalReading((), origin="http-json"),
        (pod(),),
        "no metrics API was asked: the source http-json has nothing for it",
    ),
    "a rule's query finds other pods": (
        cpu(60),
        replace(usage(300), origin="prometheus"),
        (pod("other-0"),),
        (
            "no metrics API was asked: the query of the metric's rule finds nothing about pods that the target has; "
            "try it in Prometheus"
        ),
    ),
    "an address where no Prometheus is": (
        external_metric(average_milli=1000),
        ReadFailure("Prometheus at http://prometheus answered with HTTP status 404: 404 page not found", "prometheus"),
        (pod(),),
        "",
    ),
    "no request, whoever has measured": (
        cpu(60),
        replace(usage(300), origin="prometheus"),
        (UNREQUESTED,),
        "set resources.requests.cpu in the pod template, or target an averageValue",
    ),
    "something else": (cpu(60), ReadFailure("the moon is full"), (pod(),), ""),
}


@pytest.mark.parametrize(("metric", "reading", "pods", "said"), CASES.values(), ids=CASES)
def test_what_helps(metric: MetricSpec, reading: Reading, pods: tuple[Pod, ...], said: str) -> None:
    moment = Moment(hpa(metric), observation(scale(1), reading, pods=pods), history((1, -15)), now())
    [told] = explained(moment, None, search=False).metrics
    assert told.error
    assert told.remedy == said


def test_of_a_metric_that_works_nothing_is_said() -> None:
    moment = Moment(hpa(cpu(60)), observation(scale(1), usage(300)), history((1, -15)), now())
    assert explained(moment, None, search=False).metrics[0].remedy == ""
