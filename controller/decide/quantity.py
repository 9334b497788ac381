"""Kubernetes quantities, exact: parsed, printed in canonical form and turned into milli-units, never through float."""

import enum
import re
from typing import Final

import msgspec

INT64_MAX: Final = 2**63 - 1
INT64_MIN: Final = -(2**63)

_QUANTITY: Final = re.compile(r"([+-]?)([0-9]*)(\.[0-9]*)?([eEinumkKMGTP]*)([+-]?[0-9]*)")
_DECIMAL_EXPONENTS: Final = {
    "n": -9,
    "u": -6,
    "m": -3,
    "": 0,
    "k": 3,
    "M": 6,
    "G": 9,
    "T": 12,
    "P": 15,
    "E": 18,
}
_BINARY_SHIFTS: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_SUFFIXES: Final = {exponent: suffix for suffix, exponent in _DECIMAL_EXPONENTS.items()}
_BINARY_SUFFIXES: Final = {shift: suffix for suffix, shift in _BINARY_SHIFTS.items()}
_MILLI_FACTORS: Final = {"m": 1, "k": 10**6, "M": 10**9, "G": 10**12} | {
    suffix: 1000 << shift for suffix, shift in _BINARY_SHIFTS.items() if shift <= _BINARY_SHIFTS["Ti"]
}
_MILLI_DIVISORS: Final = {"n": 10**6, "u": 10**3}

_NANO_EXPONENT: Final = -9
_MILLI_EXPONENT: Final = -3
# Beyond these a non-zero value is larger than any int64, or smaller than any nano-unit: no need for the digits.
_EXPONENT_CERTAINLY_HUGE: Final = 40
_BINARY_PRINTED_FROM: Final = 1024
_SUFFIX_DIGITS_MAX: Final = 10
_FAST_DIGITS_MAX: Final = 18
# Longer digits say nothing more; the limit keeps hostile input from costing time.
_TEXT_MAX: Final = 256


class Format(enum.Enum):
    """How a quantity was written, which is how it is printed again."""

    DECIMAL_SI = "DecimalSI"
    BINARY_SI = "BinarySI"
    DECIMAL_EXPONENT = "DecimalExponent"


class QuantityError(ValueError):
    """The text is no quantity; the message names it."""


class Quantity(msgspec.Struct, frozen=True, eq=False, gc=False):
    """An exact number, `mantissa × 10^exponent`, and the format it prints in.

    Two quantities are equal when their values are, whatever their formats (§14.4).
    """

    mantissa: int
    exponent: int = 0
    format: Format = Format.DECIMAL_SI

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Quantity):
            return NotImplemented
        if self.exponent == other.exponent:
            return self.mantissa == other.mantissa
        return _stripped(self.mantissa, self.exponent) == _stripped(other.mantissa, other.exponent)

    def __ne__(self, other: object) -> bool:
        # Without this one, `!=` would compare identities.
        return not self == other

    def __hash__(self) -> int:
        return hash(_stripped(self.mantissa, self.exponent))

    def __str__(self) -> str:
        """The canonical form: the largest suffix that leaves no fraction (§21.2)."""
        if self.mantissa == 0:
            return "0"
        if self.format is Format.BINARY_SI:
            binary = self._print_binary()
            if binary is not None:
                return binary
        return self._print_decimal()

    def canonical(self) -> str:
        """What the API server prints: as `str`, but beyond exa without a suffix, so another value (`1000E`: `1`)."""
        printed = str(self)
        if self.format is Format.DECIMAL_SI and "e" in printed:
            return printed.partition("e")[0]
        return printed

    def milli(self) -> int:
        """Milli-units, rounded away from zero and saturated to int64 (§18.6)."""
        if self.mantissa == 0:
            return 0
        if self.exponent > _EXPONENT_CERTAINLY_HUGE:
            return INT64_MAX if self.mantissa > 0 else INT64_MIN
        return saturate(_scaled(self.mantissa, self.exponent - _MILLI_EXPONENT))

    def nano(self) -> int:
        """Nano-units, exact for every parsed quantity; saturated to a magnitude of 2^63-1 whole units."""
        if self.mantissa == 0:
            return 0  # whatever its exponent: the power of that may take for ever
        if self.exponent > _EXPONENT_CERTAINLY_HUGE:
            return INT64_MAX * 10**9 if self.mantissa > 0 else -INT64_MAX * 10**9
        return _scaled(self.mantissa, self.exponent - _NANO_EXPONENT)

    def approximate(self) -> float:
        """The value as a double, as Go's Quantity.AsApproximateFloat64 computes it (§1.3)."""
        mantissa, exponent = self.mantissa, self.exponent
        if mantissa == 0:
            return 0.0
        if exponent > _EXPONENT_CERTAINLY_HUGE:
            return float("inf") if mantissa > 0 else float("-inf")
        return float(mantissa) * float(f"1e{exponent}") if exponent else float(mantissa)

    def sign(self) -> int:
        """-1, 0 or 1."""
        return (self.mantissa > 0) - (self.mantissa < 0)

    def _print_decimal(self) -> str:
        mantissa, exponent = _stripped(self.mantissa, self.exponent)
        shift = exponent % 3
        mantissa, exponent = mantissa * 10**shift, exponent - shift
        if self.format is Format.DECIMAL_EXPONENT:
            return f"{mantissa}e{exponent}" if exponent else str(mantissa)
        if exponent not in _DECIMAL_SUFFIXES:
            # Beyond exa there is no suffix; see canonical for what the original makes of that.
            return f"{mantissa}e{exponent}"
        return f"{mantissa}{_DECIMAL_SUFFIXES[exponent]}"

    def _print_binary(self) -> str | None:
        """The binary form, or None where §6.4 falls back to decimal: fractions and less than 1024 units."""
        if self.exponent > _EXPONENT_CERTAINLY_HUGE:
            return None
        mantissa, exponent = _stripped(self.mantissa, self.exponent)
        if exponent < 0:
            return None
        units = mantissa * 10**exponent
        if abs(units) < _BINARY_PRINTED_FROM:
            return None
        shift = 0
        while units % 1024 == 0 and shift + 10 in _BINARY_SUFFIXES:
            units //= 1024
            shift += 10
        return f"{units}{_BINARY_SUFFIXES.get(shift, '')}"


def parse(text: str) -> Quantity:
    """The quantity a text stands for: `100m`, `1.5Gi`, `2e3`, `.5`, `+1`; finer than nano rounds away from zero.

    Raises:
        QuantityError: not a quantity.
    """
    matched = _QUANTITY.fullmatch(text)
    if matched is None or not text or len(text) > _TEXT_MAX:
        raise QuantityError(f"{text[:60]!r} is not a quantity such as 500m, 2 or 1.5Gi")
    sign, whole, fraction, letters, digits = matched.groups()
    fraction = fraction[1:] if fraction else ""
    number = int(whole + fraction or "0") * (-1 if sign == "-" else 1)
    if not digits and letters in _BINARY_SHIFTS:
        if not whole and not fraction and _binary_digits_kept(letters) < 0:
            raise QuantityError(f"{text!r} is not a quantity: it has no digits before its suffix")
        return _binary(number, len(fraction), _BINARY_SHIFTS[letters])
    exponent, quantity_format = _suffix(text, letters, digits)
    exponent -= len(fraction)
    if exponent < _NANO_EXPONENT:
        if not whole and not fraction:
            raise QuantityError(f"{text!r} is not a quantity: it has no digits before its suffix")
        number, exponent = _scaled(number, exponent - _NANO_EXPONENT), _NANO_EXPONENT
    return Quantity(number, exponent, quantity_format)


def stored_form(text: str) -> str:
    """How the API server stores a quantity that a user wrote: in canonical form (§21.2), or unchanged.

    The original keeps the text of numbers that are whole multiples of a suffix without looking for a sign, leading
    zeros or a dot: `+5`, `007` and `1.500` stay as they are.

    Raises:
        QuantityError: not a quantity.
    """
    quantity = parse(text)
    matched = _QUANTITY.fullmatch(text)
    assert matched is not None  # noqa: S101 - parse has matched it
    _, whole, fraction, letters, digits = matched.groups()
    decimals = (fraction or ".")[1:]
    shown = (whole.lstrip("0") or "0") + decimals
    if quantity.format is Format.BINARY_SI:
        kept = not decimals and len(shown) <= _binary_digits_kept(letters) and int(shown) & 7 != 0
    else:
        exponent = _suffix(text, letters, digits)[0] - len(decimals)
        kept = (
            shown[0] != "0"
            and len(shown) <= _FAST_DIGITS_MAX
            and exponent >= _NANO_EXPONENT
            and exponent % 3 == 0
            and not shown.endswith("000")
        )
    return text if kept else quantity.canonical()


def milli(text: str) -> int:
    """Milli-units of a quantity's text, rounded away from zero and saturated to int64 (§18.6).

    Raises:
        QuantityError: not a quantity.
    """
    if len(text) <= _FAST_DIGITS_MAX:
        # What metrics APIs say by the thousand, "1234567n" or "12345Ki", without a pattern.
        end = -2 if text[-1:] == "i" else -1
        digits, suffix = text[:end], text[end:]
        if digits.isascii() and digits.isdigit():
            if suffix in _MILLI_DIVISORS:
                return -(-int(digits) // _MILLI_DIVISORS[suffix])
            if suffix in _MILLI_FACTORS:
                return min(int(digits) * _MILLI_FACTORS[suffix], INT64_MAX)
    return parse(text).milli()


def of_milli(value_milli: int, quantity_format: Format = Format.DECIMAL_SI) -> Quantity:
    """The quantity of so many milli-units, to be reported in a status (§6.4)."""
    return Quantity(value_milli, _MILLI_EXPONENT, quantity_format)


def milli_of_nano(value_nano: int) -> int:
    """Milli-units of so many nano-units, rounded away from zero and saturated to int64 (§18.6)."""
    return saturate(_scaled(value_nano, _NANO_EXPONENT - _MILLI_EXPONENT))


def saturate(value: int) -> int:
    """The nearest int64."""
    return INT64_MAX if value > INT64_MAX else max(value, INT64_MIN)


def _suffix(text: str, letters: str, digits: str) -> tuple[int, Format]:
    if not digits and letters in _DECIMAL_EXPONENTS:
        return _DECIMAL_EXPONENTS[letters], Format.DECIMAL_SI
    if letters in ("e", "E") and digits.lstrip("+-") and len(digits) <= _SUFFIX_DIGITS_MAX:
        return int(digits), Format.DECIMAL_EXPONENT
    raise QuantityError(
        f"{text!r} is not a quantity: the suffix {letters + digits!r} is none of "
        "n u m k M G T P E Ki Mi Gi Ti Pi Ei e<number>"
    )


def _binary(number: int, fraction_digits: int, shift: int) -> Quantity:
    mantissa, exponent = number << shift, -fraction_digits
    if exponent < _NANO_EXPONENT:
        mantissa, exponent = _scaled(mantissa, exponent - _NANO_EXPONENT), _NANO_EXPONENT
    # Only binary quantities are capped where they are parsed.
    if abs(mantissa) > INT64_MAX * 10**-exponent:
        mantissa, exponent = (INT64_MAX if number > 0 else -INT64_MAX), 0
    return Quantity(mantissa, exponent, Format.BINARY_SI)


def _binary_digits_kept(letters: str) -> int:
    """How many digits the original multiplies without big integers; only those keep their text."""
    return 14 - int(_BINARY_SHIFTS[letters] * 3 / 10)


def _scaled(mantissa: int, exponent: int) -> int:
    """`mantissa × 10^exponent`, rounded away from zero to an integer."""
    if exponent >= 0:
        return mantissa * int(10**exponent)
    if -exponent > _EXPONENT_CERTAINLY_HUGE + len(str(abs(mantissa))):
        return (mantissa > 0) - (mantissa < 0)
    divisor = int(10**-exponent)
    return -(-mantissa // divisor) if mantissa > 0 else mantissa // divisor


def _stripped(mantissa: int, exponent: int) -> tuple[int, int]:
    """The same value with the largest exponent; zero is (0, 0)."""
    if mantissa == 0:
        return 0, 0
    while mantissa % 10 == 0:
        mantissa //= 10
        exponent += 1
    return mantissa, exponent
