"""How each pod counts for a metric (§8)."""

from collections.abc import Iterable, Mapping

from controller.decide.instants import Now
from controller.decide.observed import Pod, Sample
from controller.decide.spec import Settings
from controller.decide.working import GROUPS, Grouping, PodGroup, Verdict


def group(pods: Iterable[Pod], samples: Mapping[str, Sample], resource: str, settings: Settings, now: Now) -> Grouping:
    """Every pod in its group (§8.1). `resource` is empty for metrics to which CPU readiness does not apply (§7.2)."""
    verdicts: dict[str, Verdict] = {}
    ready = 0
    others: list[tuple[str, PodGroup]] = []
    for pod in pods:
        verdict = verdicts[pod.name] = _verdict(pod, samples.get(pod.name), resource, settings, now)
        if verdict is Verdict.READY:
            ready += 1
        else:
            others.append((pod.name, GROUPS[verdict]))
    return Grouping(
        verdicts=verdicts,
        ready=ready,
        unready=_names(others, PodGroup.UNREADY),
        missing=_names(others, PodGroup.MISSING),
        ignored=_names(others, PodGroup.IGNORED),
    )


def _names(others: list[tuple[str, PodGroup]], wanted: PodGroup) -> tuple[str, ...]:
    return tuple([name for name, found in others if found is wanted]) if others else ()


def count_ready(pods: Iterable[Pod]) -> int:
    """Pods that run and are ready; those being deleted still count (§7.3)."""
    return sum(1 for pod in pods if pod.phase == "Running" and pod.ready is not None and pod.ready.status == "True")


def _verdict(pod: Pod, sample: Sample | None, resource: str, settings: Settings, now: Now) -> Verdict:
    if pod.deleted:
        return Verdict.DELETED
    if pod.phase == "Failed":
        return Verdict.FAILED
    if pod.phase == "Pending":
        return Verdict.PENDING
    if sample is None:
        return Verdict.NO_SAMPLE
    if resource == "cpu":
        return _cpu_verdict(pod, sample, settings, now)
    return Verdict.READY


def _cpu_verdict(pod: Pod, sample: Sample, settings: Settings, now: Now) -> Verdict:
    """§8.2: a pod that is still starting says little about the load."""
    ready, started_ns = pod.ready, pod.started_ns
    if ready is None:
        return Verdict.NO_READY_CONDITION
    if started_ns is None:
        return Verdict.NOT_STARTED
    if started_ns + settings.cpu_initialization_period_ns > now.wall_ns:
        if ready.status == "False":
            return Verdict.INITIALIZING_UNREADY
        if sample.timestamp_ns < ready.since_ns + sample.window_ns:
            return Verdict.SAMPLE_TOO_EARLY
    elif ready.status == "False" and started_ns + settings.initial_readiness_delay_ns > ready.since_ns:
        return Verdict.NEVER_READY
    return Verdict.READY
