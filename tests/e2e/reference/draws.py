"""What worlds are made of, drawn at random: mostly what occurs, often what lies at the edge of a rule.

Bounds keep all numbers of a decision within 32 bits: beyond them the original's decisions are those of a processor, and
ours are not (§7).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

Json = dict[str, Any]

_TARGETS: Final = ["100m", "101m", "250m", "999m", "1", "1001m", "1.", "2", "10", "64", "0.1", ".5", "1e2", "0.5Ki"]
_REQUESTS: Final = ["0", "0.0", "10m", "100m", "250m", "500m", "1", "1500m", "0.1", "1e-1", "100000000n", "+1", "64Mi"]
_VALUES: Final = [
    *("0", "0m", "0.0", "1n", "1e-9", "1e-10", "100n", "999999n", "1000000n", "1500u", "1m", "1e-3", "99m"),
    *("100m", "101m", "0.1", ".5", "0.5Ki", "999m", "1", "1.", "+1", "1001m", "1e1", "12E0", "-1", "-250m", "-1n"),
]
_AGES_S: Final = [0, 1, 14, 15, 16, 29, 30, 31, 59, 60, 61, 100, 119, 120, 121, 299, 300, 301, 400, 1000]
_LOADS: Final = [0, 0.2, 0.5, 0.89, 0.9, 0.901, 0.95, 1, 1, 1.05, 1.099, 1.1, 1.101, 1.5, 2, 5]
_SELECTORS: Final = [
    *("", "app in (web,other)", "app!=web", "tier", "!tier", "app=web,tier notin (x)", "app==web"),
    *(" app = web ", "app=web,", "app=web,tier>1", "tier<2", "bad selector !!", "app in ()", "a=b=c"),
    *("x>1", "app in (web", "-x=1", "app=web.."),
]
_OBJECTS: Final = [
    {"kind": "Service", "name": "web", "apiVersion": "v1"},
    {"kind": "Ingress", "name": "main", "apiVersion": "networking.k8s.io/v1"},
    {"kind": "Namespace", "name": "default", "apiVersion": "v1"},
]
_METRIC_SELECTORS: Final = [
    {"matchLabels": {"verb": "GET"}},
    {"matchExpressions": [{"key": "queue", "operator": "In", "values": ["a", "b"]}]},
]
SOURCES: Final = ["Resource", "Resource", "ContainerResource", "Pods", "Object", "External"]
SOURCES_FROM_ZERO: Final = ["Object", "External"]


def target_quantity(dice: random.Random) -> str:
    """A quantity that may be a target: positive, 0.1 to 1024."""
    return dice.choice(_TARGETS) if dice.random() < 0.5 else f"{dice.randint(100, 50_000)}m"


def value(dice: random.Random) -> str:
    """What a metric may say: up to 100, now and then negative."""
    return dice.choice(_VALUES) if dice.random() < 0.4 else f"{dice.randint(0, 5000)}m"


def near(target: str, replicas: int, dice: random.Random) -> str:
    """A value around what a target asks of so many replicas, tolerances' edges included; any value for odd targets."""
    if not target.removesuffix("m").isdigit() or dice.random() < 0.3:
        return value(dice)
    milli = int(target.removesuffix("m")) * (1 if target.endswith("m") else 1000)
    return f"{int(milli * dice.choice(_LOADS) * max(replicas, 1))}m"


def age_s(dice: random.Random) -> int:
    """Seconds since something, mostly around what periods and windows are."""
    return dice.choice(_AGES_S)


def selector(dice: random.Random) -> str:
    """Mostly the usual selector of a scale, else an unusual or a malformed one."""
    return dice.choice(_SELECTORS) if dice.random() < 0.04 else "app=web"


def settings(recorded: Json, dice: random.Random) -> Json:
    """The controller's settings, some of them others."""
    changed: Json = {
        "downscaleStabilization": dice.choice([1, 15, 30, 60, 120, 300, 600]),
        "cpuInitializationPeriod": dice.choice([0, 1, 30, 60, 120, 300]),
        "initialReadinessDelay": dice.choice([0, 1, 15, 30, 60, 300]),
        "tolerance": dice.choice([0.0, 0.01, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0, 1.5]),
    }
    drawn = recorded | {name: one for name, one in changed.items() if dice.random() < 0.3}
    if dice.random() < 0.35:
        gates = ("HPAScaleToZero", "HPAConfigurableTolerance", "PodLevelResources")
        drawn["featureGates"] = {gate: dice.random() < 0.5 for gate in gates if dice.random() < 0.5}
    return drawn


def metric(number: int, sources: Sequence[str], dice: random.Random) -> Json:
    """A metric of a spec, from one of the sources; a number makes its name one of a kind."""
    source = dice.choice(sources)
    average = {"type": "AverageValue", "averageValue": target_quantity(dice)}
    if source in ("Resource", "ContainerResource"):
        percent = dice.choice([10, 50, 60, 75, 80, 99, 100, 101, 200, 1000])
        target = dice.choice([{"type": "Utilization", "averageUtilization": percent}, average])
        described: Json = {"name": dice.choice(["cpu", "cpu", "memory"]), "target": target}
        if source == "Resource":
            return {"type": source, "resource": described}
        container = dice.choice(["app", "app", "sidecar", "none"])
        return {"type": source, "containerResource": described | {"container": container}}
    named: Json = {"name": f"metric-{number}"}
    if dice.random() < 0.2:
        named["selector"] = dice.choice(_METRIC_SELECTORS)
    target = average if source == "Pods" else dice.choice([{"type": "Value", "value": target_quantity(dice)}, average])
    described = {"metric": named, "target": target}
    if source == "Object":
        described["describedObject"] = dice.choice(_OBJECTS)
    return {"type": source, source.lower(): described}


def _rules(dice: random.Random) -> Json:
    policies = [
        {
            "type": dice.choice(["Pods", "Percent"]),
            "value": dice.choice([1, 2, 3, 4, 5, 10, 20, 33, 50, 67, 99, 100, 101, 150, 200, 900]),
            "periodSeconds": dice.choice([1, 15, 30, 45, 60, 90, 120, 180, 600, 1800]),
        }
        for _ in range(dice.randint(1, 3))
    ]
    drawn: Json = {"selectPolicy": dice.choice(["Max", "Max", "Min", "Disabled"]), "policies": policies}
    if dice.random() < 0.3:
        drawn["tolerance"] = dice.choice(
            ["0", "10m", "50m", "0.05", "100m", "0.1", "300m", "500m", "33333333n", "1", "1.5"]
        )
    return drawn


def behavior(dice: random.Random) -> Json:
    """Both directions, as the API server would have completed them: scaleUp has a window, scaleDown need not."""
    drawn = {"scaleUp": _rules(dice), "scaleDown": _rules(dice)}
    windows_s = [0, 0, 1, 15, 30, 45, 60, 120, 300, 3600]
    drawn["scaleUp"]["stabilizationWindowSeconds"] = dice.choice(windows_s)
    if dice.random() < 0.8:
        drawn["scaleDown"]["stabilizationWindowSeconds"] = dice.choice(windows_s)
    return drawn


def limits(spec: Json, dice: random.Random) -> None:
    """Give a spec other bounds, and sometimes another behavior."""
    if dice.random() < 0.6:
        spec.pop("behavior", None)
        if dice.random() < 0.85:
            spec["behavior"] = behavior(dice)
    may_be_zero = any(one["type"] in SOURCES_FROM_ZERO for one in spec["metrics"])
    least = dice.choice([0, 0, 1, 2, 3, 10] if may_be_zero else [1, 1, 2, 3, 5, 10])
    spec["minReplicas"] = least
    spec["maxReplicas"] = max(least, dice.choice([1, 3, 10, 20, 29, 100, 1000, 5000, 2**31 - 1]))


def pod(t: int, dice: random.Random) -> Json:
    """A pod as it may be at a moment, not ready, failed or without requests included."""
    containers: list[Json] = [{"name": "app"}]
    if dice.random() < 0.3:
        containers.append({"name": "sidecar"})
    for one in containers:
        if dice.random() < 0.93:
            one["requests"] = _requests(dice, 0.95)
    phase = dice.choice(["Running"] * 8 + ["Pending", "Failed", "Succeeded", "Unknown", ""])
    drawn: Json = {"phase": phase, "containers": containers}
    if dice.random() < 0.95:
        drawn["start"] = t - age_s(dice)
    if dice.random() < 0.92:
        drawn["ready"] = {"status": dice.choice(["True"] * 5 + ["False", "Unknown"]), "since": t - age_s(dice)}
    if dice.random() < 0.06:
        drawn["deleted"] = t + dice.randint(-30, 30)
    if dice.random() < 0.25:
        drawn["initContainers"] = [_init_container(dice) for _ in range(dice.randint(1, 3))]
    if dice.random() < 0.2:
        drawn["podRequests"] = _requests(dice, 0.6)
    if dice.random() < 0.08:
        drawn["labels"] = dice.choice([{"app": "other"}, {"app": "web", "tier": "x"}, {"app": "web", "tier": "2"}, {}])
    return drawn


def _init_container(dice: random.Random) -> Json:
    drawn: Json = {"name": "init", "requests": _requests(dice, 0.8)}
    return drawn | {"restartPolicy": "Always"} if dice.random() < 0.5 else drawn


def _requests(dice: random.Random, share: float) -> Json:
    return {resource: dice.choice(_REQUESTS) for resource in ("cpu", "memory") if dice.random() < share}
