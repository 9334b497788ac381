import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.lab.objects import quantity

# What kube-apiserver 1.36.3 answers when such a quantity is sent.
CANONICAL = {
    "0": "0",
    "0Mi": "0",
    "m": "0",
    "0.05": "50m",
    "0.5": "500m",
    ".5": "500m",
    "0.0001": "100u",
    "0.1m": "100u",
    "0.5n": "1n",
    "1.0000000001": "1000000001n",
    "1.5": "1500m",
    "123.456": "123.456",
    "1000": "1k",
    "1000m": "1",
    "1000k": "1M",
    "1500m": "1500m",
    "1234567": "1234567",
    "05": "05",
    "+5": "+5",
    "5.": "5.",
    "-1": "-1",
    "9223372036854775807": "9223372036854775807",
    "9223372036854775808": "9223372036854775808",
    "10E": "10E",
    "1e3": "1e3",
    "1E3": "1E3",
    "1e0": "1e0",
    "1e4": "10e3",
    "12e2": "1200",
    "1e-3": "1e-3",
    "1e30": "1e30",
    "0.5Ki": "512",
    "1.5Ki": "1536",
    "1023": "1023",
    "1024": "1024",
    "1024Ki": "1Mi",
    "1536Mi": "1536Mi",
    "2.5Gi": "2560Mi",
    "8Ei": "9223372036854775807",
}


@pytest.mark.parametrize(("given_text", "stored"), CANONICAL.items())
def test_the_stored_form(given_text: str, stored: str) -> None:
    assert quantity.canonical(given_text) == stored


@pytest.mark.parametrize("text", ["", " ", "1 k", "1_0", "1ki", "0x1", "1e", "1e1.5", "x", "1.2.3", "--1", "\u0661"])
def test_what_is_no_quantity_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="quantity"):
        quantity.canonical(text)


SUFFIXES = st.sampled_from(["", "n", "u", "m", "k", "M", "G", "Ki", "Mi", "e3", "E-3", "e5"])
NUMBERS = st.decimals(min_value=0, max_value=10**6, places=3).map(str)


@given(NUMBERS, SUFFIXES)
def test_the_stored_form_means_the_same_and_is_stable(number: str, suffix: str) -> None:
    text = number + suffix
    stored = quantity.canonical(text)
    assert quantity.parse(stored) == quantity.parse(text)
    assert quantity.canonical(stored) == stored


@given(st.fractions(min_value=0, max_value=10))
def test_thousandths_are_rounded_away_from_zero(value: Fraction) -> None:
    nano = math.ceil(value * 10**9)
    assert quantity.milli(f"{nano}n") == math.ceil(nano / Fraction(10**6))
    assert quantity.milli(f"-{nano}n") == -math.ceil(nano / Fraction(10**6))
