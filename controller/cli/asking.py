"""Asking a running controller for a page: how that ends, and in which words, is the same for every command."""

import asyncio
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec

from controller.cli.outcome import BAD_INPUT, DONE, NO, UNREACHED, complain
from controller.explain.answer import Refusal

if TYPE_CHECKING:
    from controller.cli.explain_reach import Controller

T = TypeVar("T")
_OK: Final = 200
_NOT_FOUND: Final = 404


class Unanswered(Exception):
    """The controller answered that it cannot tell; the text is what it said."""


def finished(asking: Coroutine[Any, Any, None]) -> int:
    """The exit code of a command that asks a controller; what went wrong is said in one line."""
    # These libraries take half a second, which `--help` and bad flags need not wait for.
    from controller.cli.explain_reach import NotReached  # noqa: PLC0415
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
        except (msgspec.DecodeError, UnicodeDecodeError):
            said = f"HTTP status {status}"
            if status == _NOT_FOUND:
                said += f"; it is no hpa-controller, or one that is too old {purpose}"
        raise Unanswered(f"{controller.where}: {said}")
    try:
        return body, msgspec.json.decode(body, type=answer)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Unanswered(f"{controller.where} answers in a form that this version does not know: {error}") from error
