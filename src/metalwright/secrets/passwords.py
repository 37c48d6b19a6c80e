"""Passwords for BMCs, within what their makers accept."""

from __future__ import annotations

import secrets
from typing import Annotated

from pydantic import Field

from metalwright.errors import SecretError
from metalwright.model.base import Frozen
from metalwright.secrets.value import Secret

UPPER = "ABCDEFGHJKLMNPQRSTUVWXYZ"
LOWER = "abcdefghijkmnopqrstuvwxyz"
DIGITS = "23456789"
PUNCTUATION = "-_.+=:,@%"
"""No look-alikes, and nothing that a shell, JSON, a URL path or a BMC's web form treats in a special way."""

SHORTEST = 12
"""Characters below which a password made here would be too weak."""


class PasswordRules(Frozen):
    """Limits of a BMC. The defaults fit IPMI 2.0's 20 bytes and three of four character classes.

    ``min_length`` and ``max_length`` are what the BMC says (``MinPasswordLength``, ``MaxPasswordLength``).
    """

    min_length: Annotated[int, Field(ge=0)] = SHORTEST
    max_length: Annotated[int, Field(ge=1)] = 20
    punctuation: str = PUNCTUATION


def make_password(rules: PasswordRules | None = None) -> Secret:
    """Return a random password with every character class in it, beginning with a letter.

    As long as the rules allow up to 20 characters, longer only where ``min_length`` asks for it. Raises SecretError
    when the limits leave no strong password.
    """
    rules = rules or PasswordRules()
    length = max(min(rules.max_length, 20), rules.min_length)
    if length > rules.max_length or length < SHORTEST:
        raise SecretError(
            "no strong password fits the BMC's limits",
            where="password rules",
            expected=f"at least {SHORTEST} characters",
            found=f"{rules.min_length} to {rules.max_length} characters",
        )
    classes = [group for group in (UPPER, LOWER, DIGITS, rules.punctuation) if group]
    while True:
        text = secrets.choice(UPPER + LOWER) + "".join(secrets.choice("".join(classes)) for _ in range(length - 1))
        if all(any(character in group for character in text) for group in classes):
            return Secret(text)
