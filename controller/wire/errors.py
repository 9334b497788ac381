"""What decoders raise."""

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import msgspec

P = ParamSpec("P")
R = TypeVar("R")


class WireError(ValueError):
    """The bytes are not the object they should be; the message says where and why."""


def wire_errors(decoder: Callable[P, R]) -> Callable[P, R]:
    """The decoder, raising WireError for whatever hostile input makes a library raise."""

    @functools.wraps(decoder)
    def decode(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return decoder(*args, **kwargs)
        except WireError:
            raise
        except RecursionError as error:
            raise WireError("nested too deeply") from error
        except (msgspec.MsgspecError, ValueError, OverflowError) as error:
            raise WireError(str(error)) from error

    return decode
