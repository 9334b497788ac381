"""Quantities in the form in which the API server stores them."""

from __future__ import annotations

import re
from fractions import Fraction

_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}
_PATTERN = re.compile(r"([+-]?)0*([0-9]*)(?:\.([0-9]*))?(?:(Ki|Mi|Gi|Ti|Pi|Ei)|([numkMGTPE])|([eE])([+-]?[0-9]+))?")
_NANO_SCALE = -9
_NANO = 10**-_NANO_SCALE
_BINARY_LIMIT = 2**63 - 1
_KIBI = 1024
_EXACT_DIGITS = 18
_EXPONENT_LIMIT = 1000
"""Exponents beyond this are refused: nobody means them, and exact arithmetic would take long."""

RULE = "a quantity is a number with an optional suffix (n u m k M G T P E, Ki Mi Gi Ti Pi Ei) or exponent (e3)"


def parse(text: str) -> Fraction:
    """The exact number a quantity stands for, rounded away from zero to billionths.

    Raises ValueError when the text is no quantity.
    """
    return _parse(text)[0]


def canonical(text: str) -> str:
    """The quantity as the API server gives it back: the largest suffix that needs no fraction.

    A binary suffix stays binary from 1024 units on, an exponent stays an exponent (a multiple of three). A
    decimal number whose scale is a multiple of three already, and which has no zeros to trim, stays as it was
    written. Raises ValueError as `parse` does.
    """
    value, style, kept = _parse(text)
    if kept:
        return text
    if value == 0:
        return "0"
    if style == "binary" and abs(value) >= _KIBI and value.denominator == 1:
        return _with_factor(value.numerator)
    return _with_exponent(value, exponential=style == "exponent")


def milli(text: str) -> int:
    """The quantity in thousandths, rounded away from zero."""
    return _away_from_zero(parse(text) * 1000)


def _parse(text: str) -> tuple[Fraction, str, bool]:
    match = _PATTERN.fullmatch(text)
    if not text or match is None:
        raise ValueError(RULE)
    sign, whole, fraction, binary, decimal, marker, exponent = match.groups()
    fraction = fraction or ""
    digits = (whole or "0") + fraction
    value = Fraction(int(digits), 10 ** len(fraction))
    kept = False
    if binary:
        value *= Fraction(_KIBI) ** _BINARY[binary]
        value = min(value, Fraction(_BINARY_LIMIT))
        style = "binary"
    else:
        style = "exponent" if marker else "decimal"
        scale = int(exponent) if marker else _DECIMAL[decimal or ""]
        if abs(scale) > _EXPONENT_LIMIT:
            raise ValueError(f"{RULE}; the exponent of {text!r} is too large")
        value *= Fraction(10) ** scale
        kept = _is_kept(digits, scale - len(fraction))
    value = Fraction(_away_from_zero(value * _NANO), _NANO)
    return (-value if sign == "-" else value), style, kept


def _is_kept(digits: str, scale: int) -> bool:
    short = len(digits) <= _EXACT_DIGITS and scale >= _NANO_SCALE
    return short and scale % 3 == 0 and not digits.endswith("000") and not digits.startswith("0")


def _away_from_zero(value: Fraction) -> int:
    magnitude = -(-abs(value).numerator // abs(value).denominator)
    return magnitude if value >= 0 else -magnitude


def _with_factor(number: int) -> str:
    power = 0
    while number % _KIBI == 0 and power < _BINARY["Ei"]:
        number //= _KIBI
        power += 1
    suffixes = {power: suffix for suffix, power in _BINARY.items()}
    return f"{number}{suffixes.get(power, '')}"


def _with_exponent(value: Fraction, *, exponential: bool) -> str:
    exponent = _NANO_SCALE
    number = (value * _NANO).numerator
    while number % 1000 == 0 and (exponential or exponent < _DECIMAL["E"]):
        number //= 1000
        exponent += 3
    if exponential:
        return f"{number}e{exponent}" if exponent else str(number)
    suffixes = {power: suffix for suffix, power in _DECIMAL.items()}
    return f"{number}{suffixes[exponent]}"
