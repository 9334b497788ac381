"""What decoders raise."""

import functools
import re
from collections.abc import Callable, Collection
from typing import Final, ParamSpec, TypeVar

import msgspec

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")

UNDECODABLE: Final = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""What msgspec raises for bytes that are not what was asked for, whoever has sent them."""

MESSAGE_CHARACTERS_MAX: Final = 400
_NOT_PRINTABLE: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def printable(text: str, characters_max: int = MESSAGE_CHARACTERS_MAX) -> str:
    """Foreign text fit for one line of a log: its beginning, with control characters and lone surrogates escaped."""
    return escaped(text if len(text) <= characters_max else f"{text[:characters_max]}…")


def escaped(text: str) -> str:
    """The whole text without what a terminal would take for orders, or for the end of the line."""
    return _NOT_PRINTABLE.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


class WireError(ValueError):
    """The bytes are not the object they should be; the message says where and why.

    `path` leads from the decoded object to the field, such as `metrics[0].resource`; it is empty for the object itself.
    Both are cut and escaped: what is wrong may be a megabyte of control characters.
    """

    def __init__(self, problem: str, path: str = "") -> None:
        problem, path = printable(problem), printable(path)
        super().__init__(f"{problem} - at `$.{path}`" if path else problem)
        self.problem = problem
        self.path = path

    def within(self, field: str) -> "WireError":
        """The same error as the holder of the field sees it."""
        return WireError(self.problem, f"{field}.{self.path}" if self.path else field)


def located(field: str, convert: Callable[[T], R], value: T) -> R:
    """The converted value of a field, or a WireError that says which field it was."""
    try:
        return convert(value)
    except WireError as error:
        raise error.within(field) from error
    except ValueError as error:
        raise WireError(str(error), field) from error


def each(field: str, convert: Callable[[T], R], values: Collection[T]) -> tuple[R, ...]:
    """The converted values of a list, or a WireError that says which entry it was."""
    try:
        return tuple([convert(value) for value in values])
    except ValueError:
        # Once more, keeping track of places: that would be too dear where nothing is wrong.
        return tuple(located(f"{field}[{index}]", convert, value) for index, value in enumerate(values))


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
        except msgspec.ValidationError as error:
            problem, _, place = str(error).partition(" - at `$.")
            raise WireError(problem, place.removesuffix("`")) from error
        except (msgspec.MsgspecError, ValueError, OverflowError) as error:
            raise WireError(str(error)) from error

    return decode
