"""A value that takes long to read: only whoever asks first waits, later ones go on with what is known meanwhile."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Renewed(Generic[T]):
    """Reads when first asked, and anew beside whoever asks when that has become too old. Close it when done."""

    def __init__(
        self,
        read: Callable[[], Awaitable[tuple[T, float]]],
        *,
        time_s: Callable[[], float],
        retry_s: float,
        failed: Callable[[Exception], None],
    ) -> None:
        """`read` gives the value and for how many seconds it is good; a renewal that fails is told to `failed`."""
        self._read = read
        self._time_s = time_s
        self._retry_s = retry_s
        self._failed = failed
        self._known: tuple[T] | None = None
        self._due_s = 0.0
        self._first: asyncio.Task[None] | None = None
        self._renewal: asyncio.Task[None] | None = None

    async def value(self) -> T:
        """What is known. Raises what `read` raises as long as nothing is, to all who have waited for it."""
        if self._known is None:
            if self._first is None:
                self._first = asyncio.create_task(self._begun())
            # Whoever is cancelled must not cancel it for the others.
            await asyncio.shield(self._first)
            assert self._known is not None  # noqa: S101 - it has just been read
        elif self._time_s() >= self._due_s and self._renewal is None:
            self._renewal = asyncio.create_task(self._renewed())
        return self._known[0]

    async def settled(self) -> T:
        """The same, for whoever can wait until what is too old has been read again."""
        value = await self.value()
        if self._renewal is None:
            return value
        await asyncio.wait((self._renewal,))
        return value if self._known is None else self._known[0]

    async def close(self) -> None:
        """End a reading that is under way."""
        for reading in filter(None, (self._first, self._renewal)):
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)

    async def _begun(self) -> None:
        try:
            await self._renew()
        finally:
            self._first = None

    async def _renewed(self) -> None:
        try:
            await self._renew()
        except Exception as error:  # noqa: BLE001 - what is known stays; it is tried again
            self._due_s = self._time_s() + self._retry_s
            self._failed(error)
        finally:
            self._renewal = None

    async def _renew(self) -> None:
        value, good_s = await self._read()
        # From now on, and not from when it began: what takes long must not be due again at once.
        self._known, self._due_s = (value,), self._time_s() + good_s
