"""Sessions follow certificates, whoever asks for them and gives up."""

import asyncio
import ssl
import threading

import aiohttp

from controller.kube.sessions import Certificate, Sessions, Tls


async def test_a_new_certificate_is_used_although_who_came_with_it_has_given_up() -> None:
    reading, go_on = threading.Event(), threading.Event()
    certificates: dict[Tls, Certificate | None] = {}
    used: dict[aiohttp.ClientSession, Certificate | None] = {}

    def context(certificate: Certificate | None) -> ssl.SSLContext:
        if certificate == new:
            reading.set()
            go_on.wait(30)
        made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        certificates[made] = certificate
        return made

    def http(made: Tls) -> aiohttp.ClientSession:
        session = aiohttp.ClientSession()
        used[session] = certificates[made]
        return session

    async def with_which(certificate: Certificate) -> Certificate | None:
        async with await sessions.current(certificate) as session:
            return used[session]

    old, new = ("old", "key"), ("new", "key")
    sessions = Sessions(
        "a server", files=(), context=context, http=http, time_s=asyncio.get_running_loop().time, looked_at_s=60.0
    )
    try:
        assert await with_which(old) == old
        gives_up = asyncio.create_task(with_which(new))
        assert await asyncio.to_thread(reading.wait, 30)
        gives_up.cancel()
        await asyncio.wait([gives_up])
        go_on.set()
        assert await with_which(new) == new
    finally:
        await sessions.close()
