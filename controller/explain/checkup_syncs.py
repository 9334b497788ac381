"""What the last syncs of HPAs show: in their statuses, and in what a controller remembers."""

from collections.abc import Iterator, Mapping
from typing import Final

from controller.decide import conditions
from controller.decide.instants import NANOSECONDS
from controller.explain.facts import Facts, Patient
from controller.explain.findings import Finding, advice, counted, plural, problem
from controller.explain.rows import TWIN_REMEDY, Row
from controller.explain.wording import duration

PINNED_NS: Final = 15 * 60 * NANOSECONDS
"""For how long an HPA has to be at its maximum to be worth a word."""

STALE_S: Final = 300.0
_CONTROLLER: Final = "hpa-controller"
"""What findings about the controller itself, and not about single HPAs, are about."""

_NAMESPACES_SHOWN: Final = 5
_PROMOTE: Final = "`hpa-controller promote NAMESPACE`, or --all, makes the controller write"


def of_controller(facts: Facts) -> Iterator[Finding]:
    """What only the controller knows."""
    for one in facts.patients:
        row = (facts.rows or {}).get(one.key)
        if row is None:
            continue
        if row.not_written == "foreign-writer":
            text = "another controller writes it, so that ours leaves it alone"
            remedy = "switch the other one off (--controllers=*,-horizontal-pod-autoscaler-controller)"
            yield problem(one, "foreign-writer", text, remedy)
        # A row's age goes on after the sync; how late that is is another matter.
        age_s = None if row.data_age_s is None else row.data_age_s - (row.synced_s or 0.0)
        if age_s is not None and age_s > STALE_S:
            age = duration(round(age_s * NANOSECONDS))
            text = f"its last decision rests on data of {row.metric} that is {age} old"
            yield problem(one, "metrics-stale", text, "look at the source of that metric and at its clock")


def held_back(facts: Facts) -> Iterator[Finding]:
    """What a mode or a flag keeps the controller from writing, once for the whole cluster."""
    frozen, shadowed = (_not_written(facts, reason) for reason in ("frozen", "shadow"))
    if frozen:
        text = f"when last synced nothing was written of {_in_namespaces(frozen)}, however high the load"
        remedy = f"{_PROMOTE} again; `hpa-controller modes` shows what is frozen now"
        yield Finding("problem", "frozen", _CONTROLLER, text, remedy, _keys(frozen))
    if shadowed:
        text = f"it only looks at {_in_namespaces(shadowed)}, and writes nothing"
        remedy = f"if it is to scale them: {_PROMOTE}; one that was started with --shadow has to be started without it"
        yield Finding("advice", "shadow", _CONTROLLER, text, remedy, _keys(shadowed))


def twins(facts: Facts) -> Iterator[Finding]:
    """Another hpa-controller that scales the same HPAs, told of once."""
    rows = facts.rows or {}
    shared = tuple(one.key for one in facts.patients if one.key in rows and rows[one.key].twin)
    if shared:
        text = f"another one scales {counted(shared)}, too, so that both undo each other's work"
        yield Finding("problem", "twin-writer", _CONTROLLER, text, TWIN_REMEDY, shared)


def pinned(facts: Facts, wall_ns: int) -> Iterator[Finding]:
    """HPAs that have been at their maximum for long."""
    for one in facts.patients:
        limited = one.status.condition(conditions.SCALING_LIMITED)
        if limited is None or limited.status != "True" or limited.reason != "TooManyReplicas" or not limited.changed_ns:
            continue
        # The condition does not say since when it has had its reason, but when it was last scaled is known.
        since_ns = wall_ns - max(limited.changed_ns, one.status.last_scale_ns or 0)
        if one.status.replicas_current >= one.spec.replicas_max and since_ns >= PINNED_NS:
            text = (
                f"it wants more than maxReplicas {one.spec.replicas_max}, at which it has been for {duration(since_ns)}"
            )
            remedy = (
                f"raise maxReplicas, or look at the load: `hpa-controller explain {one.key}` says how many it wants"
            )
            yield advice(one, "pinned-at-max", text, remedy)


def inactive(facts: Facts, told: Mapping[str, tuple[str, ...]]) -> Iterator[Finding]:
    """HPAs that are not scaled, for whatever reason, or not down; those with the same cause in one finding.

    Left out are those of whom other findings tell: `told` has by the HPA's key what these explain, as texts of which
    the cause has one in it.
    """
    by_cause: dict[tuple[str, str], list[str]] = {}
    for one in facts.patients:
        found = _cause(one, (facts.rows or {}).get(one.key))
        if found is not None and not any(text in found[1] for text in told.get(one.key, ())):
            by_cause.setdefault(found, []).append(one.key)
    for (code, cause), keys in by_cause.items():
        if code == "metric-failing":
            text = f"a metric cannot be read, and while that is so nothing is scaled down: {cause}"
        else:
            text = f"{'it does' if len(keys) == 1 else 'they do'} not scale: {cause}"
        remedy = f"`hpa-controller explain {keys[0]}` says what is missing"
        if len(keys) == 1:
            yield Finding("problem", code, keys[0], text, remedy)
        else:
            yield Finding("problem", code, counted(keys), text, remedy, tuple(keys))


def _cause(one: Patient, row: Row | None) -> tuple[str, str] | None:
    """Why an HPA is not scaled, or not down: a finding's code and the words; None if nothing says so."""
    able, active = map(one.status.condition, (conditions.ABLE_TO_SCALE, conditions.SCALING_ACTIVE))
    if able is not None and able.status == "False":
        return "scaling-inactive", f"{able.reason}: {able.message}"
    if active is not None and active.status == "False" and active.reason != "ScalingDisabled":
        return "scaling-inactive", f"{active.reason}: {active.message}"
    if row is None or not row.error:
        return None
    # §6.1: with what is left it is scaled up, but not down.
    return "scaling-inactive" if row.limited_by in ("error", "failed") else "metric-failing", row.error


def _not_written(facts: Facts, reason: str) -> list[Patient]:
    rows = facts.rows or {}
    return [one for one in facts.patients if one.key in rows and rows[one.key].not_written == reason]


def _keys(patients: list[Patient]) -> tuple[str, ...]:
    return tuple(one.key for one in patients)


def _in_namespaces(patients: list[Patient]) -> str:
    """How many HPAs, and where: `3 HPAs in 2 namespaces (mail, shop)`."""
    names = tuple(sorted({one.namespace for one in patients}))
    shown, more = ", ".join(names[:_NAMESPACES_SHOWN]), len(names) - _NAMESPACES_SHOWN
    hpas = f"{len(patients)} {plural('HPA', len(patients))}"
    return (
        f"{hpas} in {len(names)} {plural('namespace', len(names))} ({shown}{f' and {more} more' if more > 0 else ''})"
    )
