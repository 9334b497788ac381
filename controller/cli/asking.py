"""Asking a running controller for a page: how that ends, and in which words, is the same for every command."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

import msgspec

from controller.cli.outcome import BAD_INPUT, DONE, NO, UNREACHED, complain
from controller.explain.answer import Refusal
from controller.wire.errors import UNDECODABLE

if TYPE_CHECKING:
    from controller.cli.explain_reach import Controller
    from controller.cli.explain_whereabouts import Whereabouts


class Page(Protocol):
    """An answer that may lack something; `partial` says what, empty if nothing."""

    @property
    def partial(self) -> str:
        """What is missing."""
        ...


T = TypeVar("T")
P = TypeVar("P", bound=Page)
WATCH_PERIOD_S: Final = 2.0
_OK: Final = 200
_NOT_FOUND: Final = 404


class Unanswered(Exception):
    """The controller answered that it cannot tell; the text is what it said."""


def finished(asking: Coroutine[Any, Any, None]) -> int:
    """The exit code of a command that asks a controller; what went wrong is said in one line."""
    # These libraries take half a second, which `--help` and bad flags need not wait for.
    from controller.cli.explain_whereabouts import NotReached  # noqa: PLC0415
    from controller.kube.kubeconfig_files import ConfigurationError  # noqa: PLC0415

    try:
        asyncio.run(asking)
    except ConfigurationError as error:
        return complain(f"{error}; or give --introspection-address HOST:PORT", BAD_INPUT)
    except NotReached as error:
        return complain(str(error), UNREACHED)
    except Unanswered as error:
        return complain(str(error), NO)
    return DONE


async def asked(controller: "Controller", path: str, answer: type[T], purpose: str) -> tuple[bytes, T]:
    """The answer to a percent-encoded path, as it came and decoded. `purpose` ends the sentence "it is too old …".

    Raises:
        NotReached: nobody answered.
        Unanswered: it cannot tell, or answers in another form.
    """
    status, body = await controller.get(path)
    if status != _OK:
        try:
            said = msgspec.json.decode(body, type=Refusal).error
        except UNDECODABLE:
            said = f"HTTP status {status}"
            if status == _NOT_FOUND:
                said += f"; is that the port of --introspection-bind-address? If so, it is too old {purpose}"
        raise Unanswered(f"{controller.where}: {said}")
    try:
        return body, msgspec.json.decode(body, type=answer)
    except UNDECODABLE as error:
        raise Unanswered(f"{controller.where} answers in a form that this version does not know: {error}") from error


async def answers(
    whereabouts: "Whereabouts",
    ask: "Callable[[Controller], Awaitable[tuple[bytes, P]]]",
    *,
    watch: bool,
    lost: Callable[[str], None],
) -> AsyncIterator[tuple[bytes, P]]:
    """What `ask` gets, once; to watch, every WATCH_PERIOD_S for good.

    After a first answer the lack of one ends nothing: whoever watches a controller while it is replaced wants to see
    what comes then. `lost` is told why, each time, and whoever decides is looked for anew.

    Raises:
        ConfigurationError, NotReached, Unanswered: there was no first answer.
    """
    from controller.cli.explain_reach import reached  # noqa: PLC0415
    from controller.cli.explain_whereabouts import NotReached  # noqa: PLC0415
    from controller.kube.kubeconfig_files import ConfigurationError  # noqa: PLC0415

    answered = False
    while True:
        try:
            async with reached(whereabouts) as controller:
                partial = ""
                while not partial:  # else somebody else may decide by now
                    found = await ask(controller)
                    answered, partial = True, found[1].partial
                    yield found
                    if not watch:
                        return
                    await asyncio.sleep(WATCH_PERIOD_S)
        except (ConfigurationError, NotReached, Unanswered) as error:
            if not answered:
                raise
            lost(str(error))
            await asyncio.sleep(WATCH_PERIOD_S)


class Losses:
    """Tells on standard error why there is no answer: once, until there is another reason or was an answer."""

    def __init__(self) -> None:
        self._told = ""

    def __call__(self, why: str) -> None:
        """There is none."""
        if why != self._told:
            complain(f"{why}; still trying", UNREACHED)
        self._told = why

    def over(self) -> None:
        """There was one."""
        self._told = ""
