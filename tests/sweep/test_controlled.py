"""A short pour of damage over a running controller; `make sweep` has the long one."""

from pathlib import Path

from tests.sweep.controlled import Run


async def test_the_good_one_does_not_notice(tmp_path: Path) -> None:
    figures = await Run(seed=7, rounds=28, per_round=8, folder=tmp_path).run()
    assert figures.problems == []
    assert figures.stored > 20
    assert figures.broken_watches == 1
    assert min(figures.autoscalers, figures.objects, figures.answers) > 100
