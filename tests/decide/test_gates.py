"""Feature gates by name (§1.2)."""

import pytest

from controller.decide.gates import GATES, GateError, gates_of, parse_gates
from controller.decide.spec import Gates

READ = {
    "": Gates(),
    "HPAScaleToZero=true": Gates(scale_to_zero=True),
    "HPAScaleToZero=1,PodLevelResources=F": Gates(scale_to_zero=True, pod_level_resources=False),
    " HPAScaleToZero=True , ,HPAConfigurableTolerance=0 ": Gates(scale_to_zero=True, configurable_tolerance=False),
    "HPAScaleToZero=true,HPAScaleToZero=false": Gates(),
    "AllAlpha=true": Gates(scale_to_zero=True),
    "AllBeta=false": Gates(configurable_tolerance=False, pod_level_resources=False),
    "HPAScaleToZero=false,AllAlpha=true": Gates(),
    "AllBeta=false,PodLevelResources=true": Gates(configurable_tolerance=False),
}


@pytest.mark.parametrize("text", READ)
def test_read(text: str) -> None:
    """Later entries win; single gates win over groups wherever they stand."""
    assert parse_gates(text) == READ[text]


REFUSED = {
    "HPAScaleToZero": "'HPAScaleToZero' is not GATE=true or GATE=false",
    "HPAScaleToZero=": "'HPAScaleToZero=' is not GATE=true or GATE=false",
    "HPAScaleToZero=on": "'HPAScaleToZero=on' is not GATE=true or GATE=false",
    "hpaScaleToZero=true": "'hpaScaleToZero' is unknown; known are HPAScaleToZero, HPAConfigurableTolerance",
    "=true": "'' is unknown; known are HPAScaleToZero",
}


@pytest.mark.parametrize("text", REFUSED)
def test_refused(text: str) -> None:
    with pytest.raises(GateError) as raised:
        parse_gates(text)
    assert str(raised.value).startswith(REFUSED[text])


def test_names_that_decide_nothing_are_passed_over() -> None:
    assert gates_of({"HPAScaleToZero": True, "Other": True}) == Gates(scale_to_zero=True)
    assert gates_of({}) == Gates()


def test_every_gate_has_a_name() -> None:
    assert set(GATES.values()) == set(Gates.__struct_fields__)
