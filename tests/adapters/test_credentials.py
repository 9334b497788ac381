"""Tokens from files that are replaced from time to time."""

from pathlib import Path

from controller.kube.credentials import REREAD_S, Credentials, FileToken
from tests.adapters.parts import SetClock


async def test_a_late_refusal_of_an_older_token_says_nothing_about_the_one_that_is_known(tmp_path: Path) -> None:
    """Hundreds of requests may be under way with the old one when it is replaced: one look at the file is enough."""
    path, clock = tmp_path / "token", SetClock()
    tokens = FileToken(str(path))
    path.write_text("old")
    old = await tokens.credentials(clock)
    path.write_text("new")
    tokens.refused(old)
    new = await tokens.credentials(clock)
    assert new == Credentials("Bearer new")
    path.write_text("newer")
    tokens.refused(old)
    assert await tokens.credentials(clock) == new, "the file was read because of a late refusal"
    clock.now_s += REREAD_S
    assert await tokens.credentials(clock) == Credentials("Bearer newer")
