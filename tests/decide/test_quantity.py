"""Quantities (§18.6, §21.2, §6.4): how they are read, printed, stored and rounded. Go prints what is expected here."""

from operator import ne

import pytest

from controller.decide import quantity
from controller.decide.quantity import INT64_MAX, INT64_MIN, Format, Quantity, QuantityError, of_milli, parse

DECIMAL, BINARY, EXPONENT = Format.DECIMAL_SI, Format.BINARY_SI, Format.DECIMAL_EXPONENT

# text: milli-units, canonical form, format
READ = {
    "0": (0, "0", DECIMAL),
    "-0": (0, "0", DECIMAL),
    "0m": (0, "0", DECIMAL),
    "0Mi": (0, "0", BINARY),
    "0e1000": (0, "0", EXPONENT),
    "1": (1000, "1", DECIMAL),
    "+1": (1000, "1", DECIMAL),
    "-1": (-1000, "-1", DECIMAL),
    "007": (7000, "7", DECIMAL),
    ".5": (500, "500m", DECIMAL),
    "5.": (5000, "5", DECIMAL),
    "+.5k": (500_000, "500", DECIMAL),
    "0.05": (50, "50m", DECIMAL),
    "1.500": (1500, "1500m", DECIMAL),
    "100m": (100, "100m", DECIMAL),
    "1000m": (1000, "1", DECIMAL),
    "1500m": (1500, "1500m", DECIMAL),
    "1000": (1_000_000, "1k", DECIMAL),
    "1024": (1_024_000, "1024", DECIMAL),
    "3M": (3 * 10**9, "3M", DECIMAL),
    "3G": (3 * 10**12, "3G", DECIMAL),
    "3T": (3 * 10**15, "3T", DECIMAL),
    "3P": (3 * 10**18, "3P", DECIMAL),
    "1.5P": (15 * 10**17, "1500T", DECIMAL),
    "1n": (1, "1n", DECIMAL),
    "1u": (1, "1u", DECIMAL),
    "0.1m": (1, "100u", DECIMAL),
    "0.0001": (1, "100u", DECIMAL),
    "100000001n": (101, "100000001n", DECIMAL),
    "1999999n": (2, "1999999n", DECIMAL),
    "-1n": (-1, "-1n", DECIMAL),
    "-1500u": (-2, "-1500u", DECIMAL),
    # Finer than nano.
    "1.5n": (1, "2n", DECIMAL),
    "0.0000000001": (1, "1n", DECIMAL),
    "1.0000000001": (1001, "1000000001n", DECIMAL),
    "1e-12": (1, "1e-9", EXPONENT),
    # Binary.
    "1Ki": (1_024_000, "1Ki", BINARY),
    "1024Mi": (1024**3 * 1000, "1Gi", BINARY),
    "1500Ki": (1500 * 1_024_000, "1500Ki", BINARY),
    "1.5Gi": (1536 * 1024**2 * 1000, "1536Mi", BINARY),
    "-1.5Gi": (-1536 * 1024**2 * 1000, "-1536Mi", BINARY),
    ".5Mi": (512 * 1_024_000, "512Ki", BINARY),
    "0.5Ki": (512_000, "512", BINARY),
    "1.25Ki": (1_280_000, "1280", BINARY),
    "2Pi": (2 * 1024**5 * 1000, "2Pi", BINARY),
    # Exponents.
    "2e3": (2_000_000, "2e3", EXPONENT),
    "2E3": (2_000_000, "2e3", EXPONENT),
    "1e+3": (1_000_000, "1e3", EXPONENT),
    "1e-0": (1000, "1", EXPONENT),
    "12e2": (1_200_000, "1200", EXPONENT),
    "1e4": (10_000_000, "10e3", EXPONENT),
    "1e-3": (1, "1e-3", EXPONENT),
    # Without any digits.
    "-": (0, "0", DECIMAL),
    ".": (0, "0", DECIMAL),
    "m": (0, "0", DECIMAL),
    "Ki": (0, "0", BINARY),
    "Ti": (0, "0", BINARY),
    "e3": (0, "0", EXPONENT),
}


@pytest.mark.parametrize("text", READ)
def test_read_and_printed(text: str) -> None:
    milli, canonical, quantity_format = READ[text]
    parsed = parse(text)
    assert (parsed.milli(), str(parsed), parsed.format) == (milli, canonical, quantity_format)
    assert quantity.milli(text) == milli
    assert parse(canonical) == parsed
    assert parsed.sign() == (milli > 0) - (milli < 0)


LARGE = {
    "9223372036854775807m": INT64_MAX,
    "9223372036854775808m": INT64_MAX,
    "9223372036854775807": INT64_MAX,
    "-9223372036854775808m": INT64_MIN,
    "-9223372036854775809m": INT64_MIN,
    "10P": INT64_MAX,
    "1E": INT64_MAX,
    "-1E": INT64_MIN,
    "8Pi": 8 * 1024**5 * 1000,
    "9Pi": INT64_MAX,
    "1Ei": INT64_MAX,
    "16Ei": INT64_MAX,
    "-16Ei": INT64_MIN,
    "99999999999999999999T": INT64_MAX,
    "1e30": INT64_MAX,
    "1e1000": INT64_MAX,
    "-1e9999999999": INT64_MIN,
    "1e-999999999": 1,
    "-1e-999999999": -1,
    "9" * 255: INT64_MAX,
}


@pytest.mark.parametrize("text", LARGE)
def test_milli_units_saturate(text: str) -> None:
    """§18.6: where the original wraps or gives 0."""
    assert parse(text).milli() == quantity.milli(text) == LARGE[text]


REFUSED = (
    "", " ", " 1", "1 ", "1\n", "1,5", "1.2.3", "--1", "+-1", "NaN", "Inf", "0x10", "1_000", "\u0661", "१",
    "1ki", "1KI", "1kI", "1mi", "1i", "1im", "1Kim", "1mm", "1e", "1E+", "1ee3", "1e3k", "1e3.5", "1e99999999999",
    "1Mi1", "Mi1", "m1", "Pi", "-Ei", ".Ei", "e-10", "\x00", "1\x00", "m" * 5000, "9" * 5000, "." * 5000,
)  # fmt: skip


@pytest.mark.parametrize("text", REFUSED, ids=[repr(text[:12]) for text in REFUSED])
def test_refused(text: str) -> None:
    for read in (parse, quantity.milli, quantity.stored_form):
        with pytest.raises(QuantityError, match="is not a quantity") as raised:
            read(text)
        assert len(str(raised.value)) < 200


def test_a_refused_text_is_named() -> None:
    with pytest.raises(
        QuantityError, match=r"'1mi' is not a quantity: the suffix 'mi' is none of n u m k M G T P E Ki"
    ):
        parse("1mi")


STORED = {
    # In canonical form (§21.2) …
    "0.05": "50m",
    "1000m": "1",
    "1024Mi": "1Gi",
    "1000": "1k",
    "1.5": "1500m",
    "1.50": "1500m",
    "0.10": "100m",
    "12e2": "1200",
    "1e4": "10e3",
    "0.5Ki": "512",
    "3.0Gi": "3Gi",
    "00": "0",
    "0Mi": "0",
    "-1.5Gi": "-1536Mi",
    "+.5k": "500",
    "1000000000000": "1T",
    "+123456789011Ki": "123456789011Ki",
    "+8Ki": "8Ki",
    # … unless the original keeps the text.
    "100m": "100m",
    "1024": "1024",
    "+5": "+5",
    "-5": "-5",
    "007": "007",
    "5.": "5.",
    "1.500": "1.500",
    "1E3": "1E3",
    "2E3": "2E3",
    "1e+3": "1e+3",
    "1e-0": "1e-0",
    "1.Mi": "1.Mi",
    "+1n": "+1n",
    "+12345678901Ki": "+12345678901Ki",
    "100Mi": "100Mi",
    "1500Ki": "1500Ki",
    # Finer than nano is rounded, and so printed anew.
    "1.5n": "2n",
    "1.500n": "2n",
    "5.0972903439n": "6n",
    "0.5u": "500n",
    "605.e-10": "61e-9",
    "1e-12": "1e-9",
}


@pytest.mark.parametrize("text", STORED)
def test_stored_form(text: str) -> None:
    assert quantity.stored_form(text) == STORED[text]
    assert parse(STORED[text]) == parse(text)


REPORTED = {
    # §6.4: a milli number, in the format of its resource.
    (100, DECIMAL): "100m",
    (2000, DECIMAL): "2",
    (0, DECIMAL): "0",
    (1_000_000, DECIMAL): "1k",
    (-1500, DECIMAL): "-1500m",
    (INT64_MAX, DECIMAL): "9223372036854775807m",
    (1_048_576_000, BINARY): "1Mi",
    (1_048_576_001, BINARY): "1048576001m",
    (1_024_000, BINARY): "1Ki",
    (1_023_000, BINARY): "1023",
    (-1_024_000, BINARY): "-1Ki",
    (1_000_000, BINARY): "1k",
    (1_500_000, BINARY): "1500",
    (1000, BINARY): "1",
}


@pytest.mark.parametrize(("milli", "quantity_format"), REPORTED)
def test_reported(milli: int, quantity_format: Format) -> None:
    reported = of_milli(milli, quantity_format)
    assert str(reported) == REPORTED[milli, quantity_format]
    assert reported.milli() == milli


@pytest.mark.parametrize("text", ["8Ei", "16Ei", "9999999Pi"])
def test_binary_quantities_are_capped(text: str) -> None:
    """Only these, and where they are read."""
    assert str(parse(text)) == "9223372036854775807"
    assert str(parse(f"-{text}")) == "-9223372036854775807"


def test_equality_is_of_values() -> None:
    """§14.4: whatever the format and however written."""
    same = [parse(text) for text in ("1024", "1Ki", "1.024k", "1024000m", "1024e0", "0.001024M")]
    assert all(one == other and hash(one) == hash(other) for one in same for other in same)
    # msgspec asks this one when it compares what holds quantities.
    assert not any(ne(one, other) for one in same for other in same)
    assert parse("1Ki") != parse("1k")
    assert parse("0") == parse("0Gi") == Quantity(0, 7)
    assert parse("1") != "1"


def test_nano_units() -> None:
    assert parse("1.5").nano() == 1_500_000_000
    assert parse("1n").nano() == 1
    assert parse("-0.1n").nano() == -1
    assert parse("1Ki").nano() == 1024 * 10**9
    assert parse("1e1000").nano() == INT64_MAX * 10**9
    assert parse("-1e1000").nano() == -INT64_MAX * 10**9
    assert [quantity.milli_of_nano(nano) for nano in (0, 1, 10**6, 10**6 + 1, -1, -(10**6) - 1)] == [0, 1, 1, 2, -1, -2]


@pytest.mark.parametrize(
    ("text", "expected"),
    [("0.1", 0.1), ("50m", 0.05), ("0", 0.0), ("2e3", 2000.0), ("1Ki", 1024.0), ("-0.5", -0.5), ("1e99", float("inf"))],
)
def test_as_a_double(text: str, expected: float) -> None:
    """§1.3: the unscaled number times a power of ten."""
    assert parse(text).approximate() == expected


@pytest.mark.parametrize("text", ["0e9999999999", "-0e9999999999", "0.000e+99999999"])
def test_nothing_is_nothing_whatever_its_exponent(text: str) -> None:
    found = parse(text)
    assert (found.nano(), found.milli(), found.approximate(), str(found)) == (0, 0, 0.0, "0")
