"""The scenarios: what is played under both controllers. Data only; how it is played stands in stage.py."""

from __future__ import annotations

from typing import Final

from tests.e2e.side_by_side.life_scenarios import FAILURES, LIVES, REAL, TO_ZERO
from tests.e2e.side_by_side.metric_scenarios import METRIC_KINDS, PODS
from tests.e2e.side_by_side.rule_scenarios import RULES

SCENARIOS: Final = [*METRIC_KINDS, *PODS, *RULES, *FAILURES, *LIVES, *REAL]
"""Those that are played with the feature gates as they are by default."""

ZERO_SCENARIOS: Final = TO_ZERO
"""Those that are played with the feature gate HPAScaleToZero on."""
