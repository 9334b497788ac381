"""Sessions to servers that are not the API server, over plain HTTP or TLS."""

import asyncio
import ssl

import aiohttp

from controller.kube.sessions import Certificate, CertificatesError, Sessions, Tls, trust
from controller.os_errors import no_pass_phrase, why


def sessions_to(
    place: str, *, tls: bool, ca_file: str = "", certificate_file: str = "", key_file: str = ""
) -> Sessions[aiohttp.ClientSession]:
    """Sessions that use files from the moment they are replaced; without `tls` they are not looked at."""
    files = (ca_file, certificate_file, key_file)
    given = [path for path in files if path]
    named = f"the certificates in {', '.join(given)}" if given else "the system's certificates"

    def context(_: Certificate | None) -> ssl.SSLContext:
        try:
            made = trust(ca_file or None)
            if certificate_file:
                made.load_cert_chain(certificate_file, key_file, no_pass_phrase(key_file))
        except (OSError, ValueError) as error:
            raise CertificatesError(f"{named} cannot be used: {why(error)}") from error
        return made

    return Sessions(
        place,
        files=files if tls else (),
        context=context if tls else None,
        http=_http,
        time_s=asyncio.get_running_loop().time,
    )


def _http(context: Tls) -> aiohttp.ClientSession:
    """A session that limits neither connections nor time: whoever asks does."""
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, ssl=context),
        trust_env=False,
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(total=None),
    )
