"""What happens in a scenario at its times, carried out as a user or an accident would."""

from __future__ import annotations

from typing import TYPE_CHECKING

from controller.lab.durations import parse_duration
from controller.lab.objects.errors import ApiError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from controller.lab.cluster import Cluster
    from controller.lab.load.traffic import Traffic
    from controller.lab.objects.resources import Object
    from controller.lab.scenario import Step, Target, Timeline


class Steps:
    """Carries out the steps of timelines as their times come.

    Args:
        cluster: Where things happen.
        traffic: Finds the pods of targets.
        timelines: What happens when.
        namespace: Of the targets.
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
        self._namespace = namespace
        self._announce = announce
        begin_s = cluster.clock.monotonic_s()
        self._due = [
            (begin_s + parse_duration(step.at), parse_duration(timeline.repeat_every or "0"), step)
            for timeline in timelines
            for step in timeline.steps
        ]

    def step(self) -> None:
        """Do what is due; what cannot be done is announced and left."""
        now_s = self._cluster.clock.monotonic_s()
        due = [entry for entry in self._due if entry[0] <= now_s]
        self._due = [entry for entry in self._due if entry[0] > now_s]
        for at_s, every_s, step in due:
            if every_s > 0:
                self._due.append((at_s + every_s, every_s, step))
            try:
                self._do(step)
            except (ApiError, KeyError) as error:
                self._announce("timeline", f"the step at {step.at} failed: {error}")

    def _do(self, step: Step) -> None:
        if (image := step.set_image) is not None:
            self._change(image.target, lambda obj: _set_image(obj, image.image))
            self._announce(_named(image.target), f"gets image {image.image}")
        if (wanted := step.set_replicas) is not None:
            resource = self._resource(wanted.target)
            self._cluster.set_replicas(resource, wanted.target.name, wanted.replicas, self._namespace)
            self._announce(_named(wanted.target), f"is scaled by hand to {wanted.replicas}")
        if (deleted := step.delete_pods) is not None:
            pods = self._traffic.pods_of(self._namespace, deleted.target, self._cluster.view("pods", self._namespace))
            oldest = sorted(pods, key=lambda pod: (pod["metadata"]["creationTimestamp"], pod["metadata"]["name"]))
            for pod in oldest[: deleted.count]:
                self._cluster.delete("pods", pod["metadata"]["name"], self._namespace)
            self._announce(_named(deleted.target), f"loses {min(deleted.count, len(oldest))} pods")
        if (metrics := step.metrics) is not None:
            unavailable = self._cluster.metrics.unavailable
            (unavailable.discard if metrics.available else unavailable.add)(metrics.group)
            self._announce(metrics.group, "answers again" if metrics.available else "answers no more")

    def _change(self, target: Target, change: Callable[[Object], None]) -> None:
        self._cluster.modify(self._resource(target), target.name, change, self._namespace)

    def _resource(self, target: Target) -> str:
        found = self._traffic.resource_of(target)
        if found is None:
            raise KeyError(f"kind {target.kind} is not served")
        return found


def _set_image(obj: Object, image: str) -> None:
    obj["spec"]["template"]["spec"]["containers"][0]["image"] = image


def _named(target: Target) -> str:
    return f"{target.kind} {target.name}"
