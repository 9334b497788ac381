"""Plain scalars of YAML 1.1 as Go's yaml.v2 resolves them, which differs from PyYAML: `0o14`, `y`, `1:30`, dates."""

import base64
import binascii
import math
import re
import struct
from decimal import Decimal
from typing import Final

from controller.manifest.tree import Number, Value

_PREFIX: Final = "tag:yaml.org,2002:"
MERGE_TAG: Final = f"{_PREFIX}merge"

Resolved = bool | int | float | str | None

_WORDS: Final[dict[str, Resolved]] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
}
_INTEGER: Final = re.compile(
    r"(?P<sign>[-+]?)(?:0[xX](?P<hex>[0-9a-fA-F]+)|0[bB](?P<binary>[01]+)|0[oO]?(?P<octal>[0-7]+)|(?P<decimal>0|[1-9][0-9]*))"
)
_BASES: Final = {"hex": 16, "binary": 2, "octal": 8, "decimal": 10}
_JSON_INTEGER: Final = re.compile("-?[0-9]{1,30}")
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_STRAY_UNDERSCORE: Final = re.compile("(?<![0-9])_|_(?![0-9])")
_TIMESTAMP: Final = re.compile(
    r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt ][0-9]{1,2}:[0-9]{1,2}:[0-9]{1,2}(?:\.[0-9]*)?(?:Z|[+-][0-9]{2}:[0-9]{2})?)?"
)
_TYPES: Final[dict[str, tuple[type, ...]]] = {
    "bool": (bool,),
    "int": (int,),
    "float": (float, int),
    "null": (type(None),),
    "timestamp": (),
}
_INT64_MIN: Final = -(2**63)
_INT64_MAX: Final = 2**63 - 1
_UINT64_MAX: Final = 2**64 - 1
_DIGITS_MAX: Final = 400
# Go's encoding/json writes doubles in this range without an exponent.
_PLAIN_FROM: Final = 1e-6
_PLAIN_BELOW: Final = 1e21
# Keys are written like C's %g does.
_KEY_PLAIN_FROM: Final = Decimal("0.0001")
_KEY_PLAIN_BELOW: Final = Decimal(10**6)


def resolve(text: str, tag: str | None, *, plain: bool) -> Resolved:
    """The value of a scalar with its tag; `plain` says that nothing (no quotes, no tag) marks it as text.

    Raises:
        ValueError: the tag does not fit the text.
    """
    if tag is None:
        return _untagged(text) if plain else text
    name = tag.removeprefix(_PREFIX)
    if tag == name or name not in (*_TYPES, "binary"):
        return text
    if name == "binary":
        try:
            return base64.b64decode("".join(text.split()), validate=True).decode("utf-8", "replace")
        except binascii.Error as error:
            raise ValueError("the tag !!binary needs base64") from error
    if name == "timestamp" and _TIMESTAMP.fullmatch(text):
        return text
    value = _untagged(text)
    # In Python a bool is an int.
    if not isinstance(value, _TYPES[name]) or (isinstance(value, bool) and name != "bool"):
        raise ValueError(f"the tag !!{name} does not fit {text[:40]!r}")
    return float(value) if name == "float" and isinstance(value, int) else value


def json_value(value: Resolved) -> Value:
    """The value as JSON has it.

    Raises:
        ValueError: infinity or NaN, which JSON does not know.
    """
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    if isinstance(value, int):
        return Number(_integer_text(value))
    if not math.isfinite(value):
        raise ValueError("JSON has no infinity and no NaN; put the text in quotes or write a number")
    return Number(_float_text(value))


def sent_number(text: str) -> Number:
    """A number of a JSON document as kubectl sends it on: read as an int64 or else as a double, and written anew.

    What is beyond a double stays as it is.
    """
    if _JSON_INTEGER.fullmatch(text):
        return Number(_integer_text(int(text)))
    value = float(text)
    return Number(_float_text(value) if math.isfinite(value) else text)


def key_text(value: Resolved) -> str:
    """The value as the key of an object.

    Raises:
        ValueError: null, which is no key.
    """
    match value:
        case None:
            raise ValueError("a key must not be null; put it in quotes")
        case bool():
            return "true" if value else "false"
        case float():
            return _float32_text(value)
        case _:
            return str(value)


def _untagged(text: str) -> Resolved:
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in "+-.0123456789" or len(text) > _DIGITS_MAX:
        return text
    if text[0] == ".":
        return text if _STRAY_UNDERSCORE.search(text) else _float(text.replace("_", ""), text)
    digits = text.replace("_", "")
    matched = _INTEGER.fullmatch(digits)
    if matched is not None and matched.lastgroup is not None:
        number = int(matched[matched.lastgroup], _BASES[matched.lastgroup])
        number = -number if matched["sign"] == "-" else number
        # Go tries unsigned integers second, and those take no sign.
        if _INT64_MIN <= number <= (_INT64_MAX if matched["sign"] else _UINT64_MAX):
            return number
    return _float(digits, text)


def _float(digits: str, text: str) -> float | str:
    """The double, or the text itself where it is no number or beyond what a double holds."""
    if _FLOAT.fullmatch(digits) is None:
        return text
    number = float(digits)
    return number if math.isfinite(number) else text


def _integer_text(value: int) -> str:
    """As kubectl sends it, whose integers are those of 64 bits with a sign, even though yaml.v2 knows greater ones."""
    return str(value) if _INT64_MIN <= value <= _INT64_MAX else _float_text(float(value))


def _float_text(value: float) -> str:
    """A double as Go's encoding/json writes it: the shortest digits that read back the same."""
    number = Decimal(repr(value))
    magnitude = abs(value)
    if magnitude != 0 and not _PLAIN_FROM <= magnitude < _PLAIN_BELOW:
        return _scientific(number, exponent_digits=1)
    plain = format(number, "f")
    return plain.rstrip("0").rstrip(".") if "." in plain else plain


def _float32_text(value: float) -> str:
    """A double as a key: yaml.v2 prints it with the precision of 32 bits."""
    single = _single(value)
    if not math.isfinite(single):
        return ".nan" if math.isnan(single) else (".inf" if single > 0 else "-.inf")
    number = Decimal(next(text for p in range(1, 18) if _single(float(text := f"{single:.{p}g}")) == single))
    if number == 0 or _KEY_PLAIN_FROM <= abs(number) < _KEY_PLAIN_BELOW:
        return format(number, "f")
    return _scientific(number, exponent_digits=2)


def _single(value: float) -> float:
    """The nearest double of 32 bits; what is beyond them is infinity, as C has it where no byte order is said."""
    single: float = struct.unpack("f", struct.pack("f", value))[0]
    return single


def _scientific(number: Decimal, *, exponent_digits: int) -> str:
    """A number other than 0."""
    sign, digits, _ = number.as_tuple()
    text = "".join(map(str, digits)).rstrip("0")
    fraction = f".{text[1:]}" if len(text) > 1 else ""
    exponent = number.adjusted()
    return f"{'-' if sign else ''}{text[0]}{fraction}e{'-' if exponent < 0 else '+'}{abs(exponent):0{exponent_digits}d}"
