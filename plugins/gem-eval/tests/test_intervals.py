"""How often intervals cover the truth and tests are wrong, in simulated evaluations."""

import pytest
from interval_designs import DESIGNS, Design, repeat
from selection import some, thorough

pytestmark = pytest.mark.slow

REPETITIONS = 2000 if thorough() else 100
SPREAD = 3 * (0.05 * 0.95 / REPETITIONS) ** 0.5
"""Three standard deviations of a share of 0.05."""


@pytest.mark.parametrize("design", some(DESIGNS), ids=lambda one: one.name)
def test_intervals_cover_tests_keep_their_level_and_both_agree(design: Design) -> None:
    seen = repeat(design, REPETITIONS)
    assert seen.coverage >= 0.95 - max(0.015, SPREAD)
    if not design.reason:
        assert seen.coverage <= 0.95 + max(0.015, SPREAD)
    assert seen.wrong <= 0.05 + SPREAD
    assert seen.outside == seen.contradictions == 0
