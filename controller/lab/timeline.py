"""What happens in a scenario at its times, carried out as a user or an accident would."""

from __future__ import annotations

from typing import TYPE_CHECKING

from controller.lab.behaviour.pod_status import is_leaving
from controller.lab.durations import parse_duration
from controller.lab.objects.errors import ApiError
from controller.lab.objects.resources import nested

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from controller.lab.cluster import Cluster
    from controller.lab.load.traffic import Traffic
    from controller.lab.objects.resources import Object
    from controller.lab.scenario import Step, Target, Timeline


class _ImpossibleError(Exception):
    """A step that cannot be done; the message says why."""


class Steps:
    """Carries out the steps of timelines as their times come.

    Args:
        cluster: Where things happen.
        traffic: Finds the pods of targets.
        timelines: What happens when.
        namespace: Of the targets of timelines that name none.
        announce: Called with the subject and what happened to it.

    """

    def __init__(
        self,
        cluster: Cluster,
        traffic: Traffic,
        timelines: Sequence[Timeline],
        namespace: str,
        announce: Callable[[str, str], None],
    ) -> None:
        self._cluster = cluster
        self._traffic = traffic
        self._announce = announce
        begin_s = cluster.clock.monotonic_s()
        self._due = [
            (
                begin_s + parse_duration(step.at),
                parse_duration(timeline.spec.repeat_every or "0"),
                timeline.namespace or namespace,
                step,
            )
            for timeline in timelines
            for step in timeline.spec.steps
        ]

    def step(self) -> None:
        """Do what is due; what cannot be done is announced and left."""
        now_s = self._cluster.clock.monotonic_s()
        due = sorted((entry for entry in self._due if entry[0] <= now_s), key=lambda entry: entry[0])
        self._due = [entry for entry in self._due if entry[0] > now_s]
        for at_s, every_s, namespace, step in due:
            if every_s > 0:
                self._due.append((at_s + every_s, every_s, namespace, step))
            try:
                self._do(step, namespace)
            except (ApiError, _ImpossibleError) as error:
                self._announce("timeline", f"the step at {step.at} failed: {error}")

    def _do(self, step: Step, namespace: str) -> None:
        if (image := step.set_image) is not None:
            resource = self._resource(image.target)
            self._cluster.modify(resource, image.target.name, lambda obj: _set_image(obj, image.image), namespace)
            self._announce(_named(image.target), f"gets image {image.image}")
        if (wanted := step.set_replicas) is not None:
            resource = self._resource(wanted.target)
            self._cluster.set_replicas(resource, wanted.target.name, wanted.replicas, namespace)
            self._announce(_named(wanted.target), f"is scaled by hand to {wanted.replicas}")
        if (deleted := step.delete_pods) is not None:
            if absence := self._traffic.absence_of(namespace, deleted.target):
                raise _ImpossibleError(absence)
            pods = self._traffic.pods_of(namespace, deleted.target, self._cluster.view("pods", namespace))
            present = [pod for pod in pods if not is_leaving(pod)]
            oldest = sorted(present, key=lambda pod: (pod["metadata"]["creationTimestamp"], pod["metadata"]["name"]))
            for pod in oldest[: deleted.count]:
                self._cluster.delete("pods", pod["metadata"]["name"], namespace)
            self._announce(_named(deleted.target), f"loses {_counted(min(deleted.count, len(oldest)))}")
        if (metrics := step.metrics) is not None:
            unavailable = self._cluster.metrics.unavailable
            (unavailable.discard if metrics.available else unavailable.add)(metrics.group)
            self._announce(metrics.group, "answers again" if metrics.available else "answers no more")

    def _resource(self, target: Target) -> str:
        found = self._traffic.resource_of(target)
        if found is None:
            raise _ImpossibleError(f"the lab has no kind {target.kind}")
        return found


def _set_image(obj: Object, image: str) -> None:
    containers = nested(obj, "spec", "template", "spec", "containers")
    if not isinstance(containers, list) or not containers or not isinstance(containers[0], dict):
        raise _ImpossibleError(f"{obj['kind']} {obj['metadata']['name']} has no template with a container")
    containers[0]["image"] = image


def _counted(pods: int) -> str:
    return "one pod" if pods == 1 else f"{pods} pods"


def _named(target: Target) -> str:
    return f"{target.kind} {target.name}"
