"""Telling whoever looks on; what only looks must not end what scales."""

from collections.abc import Callable, Iterable
from typing import ParamSpec

import structlog

P = ParamSpec("P")

_log = structlog.get_logger(__name__)


def tell(observers: Iterable[Callable[P, None]], about: str, *args: P.args, **kwargs: P.kwargs) -> None:
    """Call all of them with the same news; an error of one is logged and costs the others nothing.

    `about` names the object in the log.
    """
    for observer in observers:
        try:
            observer(*args, **kwargs)
        except Exception:  # noqa: BLE001 - whatever it is, work goes on
            _log.exception("an observer failed", about=about, observer=repr(observer))
