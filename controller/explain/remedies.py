"""What to do about a metric that fails."""

from collections.abc import Callable
from typing import Final

from controller.decide.spec import ContainerResourceMetric, MetricSpec, ResourceMetric
from controller.metrics_apis import METRICS_APIS, MetricsApi

UNAVAILABLE: Final = ("the server is currently unable to handle the request", "service unavailable")
"""What syncs are told by the API server where nobody answers behind it."""

_Remedy = Callable[[MetricSpec, MetricsApi], str]
_Remedies = tuple[tuple[tuple[str, ...], _Remedy], ...]

_OF_PODS: Final[_Remedies] = (
    (
        ("missing request for", "missing pod-level request for"),
        lambda metric, _: f"set resources.requests.{_resource(metric)} in the pod template, or target an averageValue",
    ),
    (("not found in Pod",), lambda *_: "name a container in the metric that the pods have"),
    (
        ("the selector of the target matches no pods",),
        lambda *_: "its pods do not come about, or bear other labels: look at the target's events and its selector",
    ),
)
"""What errors have in them, in the words of §6 and §9, and what helps; the first that is found goes."""

_OF_APIS: Final[_Remedies] = (
    (
        ("no metrics returned from resource metrics API", "no metrics returned matched known pods"),
        lambda *_: "`kubectl top pods` shows which pods have been measured; new ones are after a minute or so",
    ),
    (
        UNAVAILABLE,
        lambda _, api: f"look at the pods and the Service behind {api.group}: `kubectl get apiservices` names it",
    ),
    (
        ("could not find the requested resource", "404 page not found"),
        lambda _, api: f"nobody serves {api.group}: {api.provider}",
    ),
    (
        ("could not find the metric",),
        lambda _, api: f"`kubectl get --raw /apis/{api.versions[-1]}` lists the metrics that are served",
    ),
)
"""The same where a metrics API was asked, in the words of §6 and of API servers."""

_NOTHING: Final = "no metrics returned"
"""What §6 says of an empty answer. It names a metrics API even where another source gave the answer."""

_NOTHING_OF_PODS: Final = "no metrics returned matched known pods"


def remedy(metric: MetricSpec, error: str, origin: str = "") -> str:
    """What to do about a metric that failed with this error; empty where the error says all that is known.

    `origin` is the source that was asked if not a metrics API, as in MetricTold.
    """
    api = next((api for api in METRICS_APIS if api.asked_for((metric,))), None)
    if api is None:
        return ""
    remedies = _OF_PODS if origin else _OF_PODS + _OF_APIS
    found = next((says(metric, api) for texts, says in remedies if any(text in error for text in texts)), "")
    return _nothing_from(origin, error) if origin and not found and _NOTHING in error else found


def _nothing_from(origin: str, error: str) -> str:
    what = "nothing about pods that the target has" if _NOTHING_OF_PODS in error else "nothing"
    match origin:
        case "annotation":
            return f"no metrics API was asked: the query in the HPA's annotation finds {what}; try it in Prometheus"
        case "prometheus":
            return f"no metrics API was asked: the query of the metric's rule finds {what}; try it in Prometheus"
        case _:
            return f"no metrics API was asked: the source {origin} has {what} for it"


def _resource(metric: MetricSpec) -> str:
    return metric.name if isinstance(metric, ResourceMetric | ContainerResourceMetric) else ""
