"""``python -m tests.e2e.noise URL AUTHORITY CERTIFICATE KEY``: asks an API server for far too much until it is ended.

It lists all ConfigMaps from many connections and is slow to read the answers: as long as one is not read, it takes one
of the API server's seats. Writes a line for each time that it was told to come back later.
"""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress
from http import HTTPStatus

import aiohttp

from tests.trust import trusting

CLIENTS = 400
_SLOW_S = 2.0


async def _ask(session: aiohttp.ClientSession, url: str) -> None:
    while True:
        with suppress(aiohttp.ClientError, TimeoutError):
            async with session.get(f"{url}/api/v1/configmaps") as response:
                if response.status == HTTPStatus.TOO_MANY_REQUESTS:
                    sys.stdout.write("refused\n")
                    sys.stdout.flush()
                await asyncio.sleep(_SLOW_S)
                response.close()


async def _main(url: str, authority: str, certificate: str, key: str) -> None:
    context = trusting(authority)
    context.load_cert_chain(certificate, key)
    # A small buffer: what is not read must not be received either.
    connector = aiohttp.TCPConnector(ssl=context, limit=0)
    async with aiohttp.ClientSession(connector=connector, read_bufsize=1024) as session:
        await asyncio.gather(*(_ask(session, url) for _ in range(CLIENTS)))


if __name__ == "__main__":
    asyncio.run(_main(*sys.argv[1:]))
