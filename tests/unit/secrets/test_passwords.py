"""Passwords fit the BMC and nobody guesses them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metalwright.errors import SecretError
from metalwright.secrets.passwords import SHORTEST, PasswordRules, make_password


def character_classes(text: str) -> int:
    """How many of the four classes (upper, lower, digit, other) a text has."""
    tests = (str.isupper, str.islower, str.isdecimal, lambda character: not character.isalnum())
    return sum(any(map(is_one, text)) for is_one in tests)


def test_by_default_it_fits_ipmi() -> None:
    text = make_password().reveal()
    assert len(text) == 20
    assert character_classes(text) == 4
    assert text[0].isalpha()


def test_no_two_are_alike() -> None:
    assert len({make_password().reveal() for _ in range(100)}) == 100


@given(st.integers(0, 64), st.integers(1, 64))
def test_it_keeps_the_limits_or_refuses(min_length: int, max_length: int) -> None:
    rules = PasswordRules(min_length=min_length, max_length=max_length)
    if max_length < max(SHORTEST, min_length):
        with pytest.raises(SecretError):
            make_password(rules)
        return
    text = make_password(rules).reveal()
    assert max(min_length, SHORTEST) <= len(text) <= max_length
    assert character_classes(text) == 4


def test_a_bmc_may_forbid_punctuation() -> None:
    text = make_password(PasswordRules(punctuation="")).reveal()
    assert text.isalnum()
    assert character_classes(text) == 3
