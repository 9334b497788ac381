"""Feature gates by their names (§1.2)."""

from typing import Final

from controller.decide.spec import Gates

GATES: Final = {
    "HPAScaleToZero": "scale_to_zero",
    "HPAConfigurableTolerance": "configurable_tolerance",
    "PodLevelResources": "pod_level_resources",
}
_ALPHA: Final = ("HPAScaleToZero",)
_BETA: Final = ("HPAConfigurableTolerance", "PodLevelResources")
_TRUTH: Final = {"1": True, "t": True, "true": True, "0": False, "f": False, "false": False}


class GateError(ValueError):
    """A gate that is not known, or no truth value."""


def parse_gates(text: str) -> Gates:
    """The gates that a `--feature-gates` value sets; later entries win, AllAlpha and AllBeta yield to single ones.

    Components name themselves before a colon; `kube:`, which stands for all without one, may be there.

    Raises:
        GateError: an unknown gate, or no truth value.
    """
    groups: dict[str, bool] = {}
    single: dict[str, bool] = {}
    for entry in filter(None, (part.strip() for part in text.split(","))):
        name, _, value = entry.removeprefix("kube:").partition("=")
        on = _TRUTH.get(value.lower())
        if on is None:
            raise GateError(f"{entry!r} is not GATE=true or GATE=false")
        if name in ("AllAlpha", "AllBeta"):
            groups |= dict.fromkeys(_ALPHA if name == "AllAlpha" else _BETA, on)
        elif name in GATES:
            single[name] = on
        else:
            raise GateError(f"{name!r} is unknown; known are {', '.join(GATES)}, AllAlpha, AllBeta")
    return gates_of(groups | single)


def gates_of(switched: dict[str, bool]) -> Gates:
    """The gates with some switched from their defaults; names that decide nothing are passed over."""
    return Gates(**{GATES[name]: on for name, on in switched.items() if name in GATES})
