"""Label selectors as the API server reads them, which has them from the library that upstream's controller uses."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Final

from controller.decide import selectors
from tests.e2e.api_client import ApiClient, ApiError

if TYPE_CHECKING:
    from tests.e2e.control_plane import ControlPlane

COUNT: Final = 3_000
PIECES: Final = (
    *("a", "app", "in", "notin", "x-", "-", "42", "-3", "a/b", "é", "k" * 64),
    *("=", "==", "!=", "!", ",", "(", ")", "<", ">", " "),
    *("a in (", "(a,b)", "app=web", "a>", ",,"),
)


def written(dice: random.Random) -> str:
    """A selector, or what somebody took for one."""
    return dice.choice(("", " ")).join(dice.choices(PIECES, k=dice.randint(1, 7)))


def ours(text: str) -> str | None:
    """What we say is wrong with it."""
    try:
        selectors.parse(text)
    except selectors.SelectorError as error:
        return str(error)
    return None


async def theirs(admin: ApiClient, path: str, text: str) -> str | None:
    """What the API server says is wrong with it."""
    try:
        await admin.get(path, {"labelSelector": text, "limit": "1"})
    except ApiError as error:
        if error.reason != "BadRequest":
            raise
        return error.message
    return None


async def test_they_are_refused_alike(control_plane: ControlPlane, namespace: str) -> None:
    """§5.2, §15.3: the same ones, and what differs in their messages differs in ours, and nothing else does."""
    path, dice = f"/api/v1/namespaces/{namespace}/configmaps", random.Random(1)  # noqa: S311 - a fixed sequence
    texts = sorted({written(dice) for _ in range(COUNT)})
    said = [(text, ours(text), await theirs(control_plane.admin, path, text)) for text in texts]
    assert [text for text, our, their in said if (our is None) is not (their is None)] == []
    pairs = {(our, their) for _, our, their in said if our is not None}
    assert len(pairs) > 100
    assert len({our for our, _ in pairs}) == len(pairs) == len({their for _, their in pairs})
    assert len(said) - sum(our is not None for _, our, _ in said) > 20
