"""Tasks that outlive whoever begins them."""

import asyncio

from controller import precedence
from controller.background import Background


async def test_what_a_sync_begins_is_no_sync() -> None:
    """A watch that a sync asks for would wait among syncs for as long as it lasts."""
    found: list[bool] = []

    async def look() -> None:
        found.append(precedence.in_sync())

    async with Background() as background:

        async def sync() -> None:
            precedence.begin(5.0)
            assert precedence.in_sync()
            background.spawn(look())

        await asyncio.create_task(sync())
    assert found == [False]
