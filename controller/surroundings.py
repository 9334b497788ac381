"""What of the cluster keeps HPAs from being scaled as their owners expect: told at the start and when it changes."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Collection, Iterable
from typing import Final

import msgspec
import structlog

from controller.decide import conditions
from controller.decide.spec import Gates
from controller.metrics_apis import METRICS_APIS
from controller.ports import ApiError, WatchedAutoscaler

DECIDES_AS: Final = "1.36.3"
"""The version of Kubernetes whose decisions these are."""

LOOKED_AT_EVERY_S: Final = 60.0
_AUTOSCALING: Final = "autoscaling/v2"
_AUTOSCALING_SINCE: Final = (1, 23)
_NAMED: Final = 3

_log = structlog.get_logger(__name__)


class Cluster(msgspec.Struct, frozen=True):
    """An API server's version as it says it, and the group/versions it serves."""

    version: str
    served: frozenset[str]


class Finding(msgspec.Struct, frozen=True):
    """Something worth knowing; `problem` if HPAs suffer from it. The text says what to do then."""

    name: str
    text: str
    problem: bool = False


def findings(
    cluster: Cluster, autoscalers: Collection[WatchedAutoscaler], gates: Gates, from_apis: Collection[str]
) -> tuple[Finding, ...]:
    """What there is to say about the cluster and its HPAs, problems or not; `from_apis` as in Surroundings."""
    return (
        _version(cluster),
        *_apis(cluster, autoscalers, from_apis),
        *_gates(autoscalers, gates),
        *_paused(autoscalers),
    )


class Surroundings:
    """The findings of the last look; `run` looks again now and then."""

    def __init__(
        self,
        read: Callable[[], Awaitable[Cluster]],
        autoscalers: Iterable[WatchedAutoscaler],
        gates: Gates,
        from_apis: Collection[str],
    ) -> None:
        """`read` may raise ApiError: what was found before then stays. `autoscalers` are looked through each time.

        `from_apis`: the families of metrics that are read from their APIs, be it among other sources.
        """
        self._read = read
        self._autoscalers = autoscalers
        self._gates = gates
        self._from_apis = from_apis
        self.found: tuple[Finding, ...] = ()

    async def run(self, filled: Callable[[], Awaitable[None]]) -> None:
        """Look at once, when the caches are filled, and every minute from then on."""
        await self.look()
        await filled()
        while True:
            await self.look()
            await asyncio.sleep(LOOKED_AT_EVERY_S)

    async def look(self) -> None:
        """Look once and log what is new, and what is over."""
        try:
            found = findings(await self._read(), list(self._autoscalers), self._gates, self._from_apis)
        except ApiError as error:
            _log.debug("the cluster could not be looked at", error=str(error))
            return
        except Exception:  # noqa: BLE001 - what only informs must not end what scales
            _log.exception("the cluster could not be looked at")
            return
        before, self.found = self.found, found
        known = {finding.text for finding in before}
        for finding in self.found:
            if finding.text not in known:
                (_log.warning if finding.problem else _log.info)(finding.text, finding=finding.name)
        left = {finding.name for finding in self.found}
        for finding in before:
            if finding.problem and finding.name not in left:
                _log.info("no longer a problem", finding=finding.name)

    def lines(self) -> list[str]:
        """The findings for a page that people read."""
        return [f"[{'!' if finding.problem else 'i'}]{finding.name}: {finding.text}" for finding in self.found]


def _version(cluster: Cluster) -> Finding:
    number = re.match(r"v?(\d+)\.(\d+)", cluster.version)
    known = (int(number[1]), int(number[2])) if number else None
    if _AUTOSCALING not in cluster.served:
        too_old = known is not None and known < _AUTOSCALING_SINCE
        why = f"is too old: {_AUTOSCALING} came with Kubernetes 1.23" if too_old else f"does not serve {_AUTOSCALING}"
        what = "upgrade it" if too_old else f"take {_AUTOSCALING}=false out of its --runtime-config"
        return Finding("server", f"the API server {cluster.version} {why}; no HPA is scaled; {what}", problem=True)
    return Finding(
        "server", f"the API server is {cluster.version}; decisions are made as Kubernetes {DECIDES_AS} makes them"
    )


def _apis(
    cluster: Cluster, autoscalers: Collection[WatchedAutoscaler], from_apis: Collection[str]
) -> Iterable[Finding]:
    for api in METRICS_APIS:
        if api.family not in from_apis or any(version in cluster.served for version in api.versions):
            continue
        asking = [one.key for one in autoscalers if api.asked_for(one.spec.metrics) and not api.has_told(one.status)]
        if asking:
            text = f"{api.group} is not served, but {_counted(asking)} scale on {api.what}; {api.provider}"
            yield Finding(api.group, text, problem=True)


def _gates(autoscalers: Collection[WatchedAutoscaler], gates: Gates) -> Iterable[Finding]:
    """A field that the API server takes only behind its gate shows that the gate is on there."""
    if not gates.scale_to_zero:
        to_zero = [one.key for one in autoscalers if one.spec.replicas_min == 0]
        if to_zero:
            text = (
                f"the gate is or was on in the API server ({_counted(to_zero)} with minReplicas 0) and is off here; "
                "pass --feature-gates=HPAScaleToZero=true to scale them to zero and back"
            )
            yield Finding("HPAScaleToZero", text, problem=True)
    if not gates.configurable_tolerance:
        tolerant = [one.key for one in autoscalers if _sets_tolerance(one)]
        if tolerant:
            text = (
                f"the gate is or was on in the API server ({_counted(tolerant)} with a tolerance of their own) and is "
                "off here; pass --feature-gates=HPAConfigurableTolerance=true for these to count"
            )
            yield Finding("HPAConfigurableTolerance", text, problem=True)


def _sets_tolerance(autoscaler: WatchedAutoscaler) -> bool:
    behavior = autoscaler.spec.behavior
    rules = () if behavior is None else (behavior.scale_up, behavior.scale_down)
    return any(direction.tolerance is not None for direction in rules)


def _paused(autoscalers: Collection[WatchedAutoscaler]) -> Iterable[Finding]:
    """§26: up to 1.35 these were scaled up from zero, without a mark in their status."""
    paused = [one.key for one in autoscalers if _parked_at_zero(one)]
    if paused:
        text = (
            f"{_counted(paused)} with minReplicas 0 whose targets are at zero without the condition ScaledToZero: such "
            "ones are paused since Kubernetes 1.36, although earlier versions scaled them up; "
            "`kubectl scale --replicas=1` on a target wakes it"
        )
        yield Finding("paused-at-zero", text, problem=True)


def _parked_at_zero(autoscaler: WatchedAutoscaler) -> bool:
    if autoscaler.spec.replicas_min != 0:
        return False
    status = autoscaler.status
    mark = status.condition(conditions.SCALED_TO_ZERO)
    marked = mark is not None and mark.status == "True"
    at_zero = status.replicas_current == status.replicas_desired == 0 and bool(status.conditions)
    return at_zero and not marked


def _counted(keys: list[str]) -> str:
    shown = ", ".join(sorted(keys)[:_NAMED])
    more = f" and {len(keys) - _NAMED} more" if len(keys) > _NAMED else ""
    return f"{len(keys)} HPA{'s' if len(keys) > 1 else ''} ({shown}{more})"
