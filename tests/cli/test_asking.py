"""Commands that go on asking look anew for whoever decides, and say once why there is no answer."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path

import pytest

from controller.cli.asking import Losses, answers, asked
from controller.cli.explain_reach import Controller
from controller.cli.explain_whereabouts import Whereabouts
from controller.explain.rows import PATH, Rows
from controller.lab.scaled_loop import scaled_loop_factory
from tests.cli.explain_cluster import WAIT_S, Follower, fake_cluster, lease, pod
from tests.cli.top_server import API, WEB, listening, topped

SPEED = 5
"""So much faster time goes for who asks every two seconds."""


async def ask(controller: Controller) -> tuple[bytes, Rows]:
    return await asked(controller, PATH, Rows, "to be asked")


def test_where_one_decides_no_longer_the_next_question_is_for_whoever_does(tmp_path: Path) -> None:
    with asyncio.Runner(loop_factory=scaled_loop_factory(SPEED)) as runner:
        runner.run(asked_until_another_decides(tmp_path))


async def asked_until_another_decides(tmp_path: Path) -> None:
    follower = Follower()
    follower.leading = True
    lost: list[str] = []
    async with (
        listening(topped(), [WEB], election=follower) as before,
        listening(topped(), [API]) as after,
        fake_cluster() as cluster,
        asyncio.timeout(SPEED * WAIT_S),
    ):
        cluster.ports |= {8082: before.port, 9999: after.port}
        whereabouts = Whereabouts(kubeconfig=str(cluster.kubeconfig(tmp_path)))
        found = answers(whereabouts, ask, watch=True, lost=lost.append)
        assert isinstance(found, AsyncGenerator)
        async with aclosing(found):
            _, rows = await anext(found)
            assert [row.name for row in rows.rows] == ["web"]
            follower.leading = False
            cluster.pods["next"] = pod("--introspection-bind-address=:9999", name="next")
            cluster.leases = [lease("next_8f14e45f")]
            _, rows = await anext(found)
            assert rows.partial
            _, rows = await anext(found)
            assert ([row.name for row in rows.rows], rows.partial, lost) == (["api"], "", [])


def test_why_there_is_no_answer_is_said_again_only_after_another_reason_or_an_answer(
    capsys: pytest.CaptureFixture[str],
) -> None:
    losses = Losses()
    for why in ("gone", "gone", "refused", "gone"):
        losses(why)
    losses.over()
    losses("gone")
    said = [line.removeprefix("hpa-controller: ") for line in capsys.readouterr().err.splitlines()]
    assert said == [f"{why}; still trying" for why in ("gone", "refused", "gone", "gone")]
