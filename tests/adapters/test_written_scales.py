"""A cached scale is believed again once it has caught up with our own write; what nobody asks for is forgotten."""

from typing import cast

import msgspec

from controller.decide.observed import Scale
from controller.decide.spec import Reference
from controller.kube.client import Client
from controller.kube.discovery import Discovery
from controller.kube.scale import WRITTEN_MIN, KubeScales, ScaleCaches
from tests.adapters.parts import always

WEB = Reference("Deployment", "web", "apps/v1")


class Server:
    """Answers scale requests: every write makes a new version."""

    def __init__(self) -> None:
        self.version = 100

    async def get(self, *_: object, **__: object) -> bytes:
        return self._scale()

    async def write(self, *_: object, **__: object) -> bytes:
        self.version += 1
        return self._scale()

    def _scale(self) -> bytes:
        return msgspec.json.encode({"metadata": {"name": "web", "resourceVersion": str(self.version)}})


class Caches:
    """What watches have brought so far, by name."""

    def __init__(self) -> None:
        self.seen: dict[str, Scale] = {}

    def get(self, group: str, kind: str, namespace: str, name: str) -> Scale | None:  # noqa: ARG002
        return self.seen.get(name)

    def down(self, group: str, kind: str, namespace: str) -> bool:  # noqa: ARG002
        return False


def scales_of(server: Server, caches: Caches) -> KubeScales:
    return KubeScales(cast("Client", server), cast("Discovery", None), cast("ScaleCaches", caches))


def version(number: int) -> Scale:
    return Scale(2, 2, "app=web", "uid", str(number))


async def test_a_cache_that_lags_behind_our_own_write_is_not_believed() -> None:
    server, caches = Server(), Caches()
    scales = scales_of(server, caches)
    caches.seen["web"] = version(100)
    assert not (await scales.read("shop", WEB, live=False)).live
    await scales.write("shop", WEB, version(100), 3, always)
    assert (await scales.read("shop", WEB, live=False)).live
    caches.seen["web"] = version(101)
    assert not (await scales.read("shop", WEB, live=False)).live


async def test_of_targets_that_are_gone_nothing_is_kept_and_of_others_what_is_needed() -> None:
    server, caches = Server(), Caches()
    scales = scales_of(server, caches)
    caches.seen["web"] = version(100)
    await scales.write("shop", WEB, version(100), 3, always)
    for number in range(3 * WRITTEN_MIN):
        await scales.write("shop", Reference("Deployment", f"gone-{number}", "apps/v1"), version(100), 3, always)
        assert len(scales._written) <= WRITTEN_MIN + 1
    assert (await scales.read("shop", WEB, live=False)).live, "its cache still lags"
