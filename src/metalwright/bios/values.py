"""Values of one attribute: from what a person wrote to what the BMC takes, or why not."""

from __future__ import annotations

import re
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from metalwright.bios.registry import Attribute, Choice, Value


class ValueProblem(ValueError):  # noqa: N818 - never shown: it becomes a line of a BiosError
    """Why a value is refused, as the end of a sentence."""


def to_send(attribute: Attribute, written: Value, current: Any) -> Value:
    """The value to write, in the vocabulary that the BMC uses for the current one.

    Raises:
        ValueProblem: wrong type, out of bounds, not in the list.
    """
    if attribute.is_secret:
        raise ValueProblem("is a password; a blueprint never holds secrets")
    if attribute.type == "Enumeration":
        return _choose(attribute, written, current)
    if attribute.type == "Integer":
        return _integer(attribute, written)
    if attribute.type == "Boolean":
        return _boolean(written)
    return _string(attribute, written)


def is_same(attribute: Attribute, one: Any, other: Any) -> bool:
    """Whether two values mean the same: by list entry, number or truth value, not by spelling."""
    if one is None or other is None:
        return one is other
    if attribute.type == "Enumeration":
        first, second = _choice_of(attribute, str(one)), _choice_of(attribute, str(other))
        return first == second if first is not None and second is not None else str(one) == str(other)
    if attribute.type == "Integer":
        return _as_text(one) == _as_text(other)
    if attribute.type == "Boolean":
        return _as_text(one).lower() == _as_text(other).lower()
    return str(one) == str(other)


def as_shown(value: Value, current: Any) -> Value:
    """A written value in the form in which this BMC shows the present one: some show numbers and flags as text."""
    if isinstance(current, str) and isinstance(value, bool):
        return str(value) if current[:1].isupper() else str(value).lower()
    return str(value) if isinstance(current, str) and isinstance(value, int) else value


def shown(attribute: Attribute | None, value: Any) -> str:
    """A value for people; never that of a password."""
    if attribute is not None and attribute.is_secret:
        return "***"
    if value is None:
        return "unknown"
    return "''" if value == "" else _as_text(value)


def _as_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value).strip()


def _choice_of(attribute: Attribute, text: str) -> Choice | None:
    by_name = next((choice for choice in attribute.choices if choice.name == text), None)
    return by_name or next((choice for choice in attribute.choices if choice.display == text), None)


def _choose(attribute: Attribute, written: Value, current: Any) -> str:
    text = _as_text(written)
    if not attribute.choices:
        return text
    choice = _choice_of(attribute, text)
    if choice is None:
        raise ValueProblem(f"has no value {text!r}; {_suggestion(attribute, text)}")
    uses_names = any(choice.name == current for choice in attribute.choices)
    uses_displays = any(choice.display == current for choice in attribute.choices)
    return choice.display if uses_displays and not uses_names else choice.name


def _suggestion(attribute: Attribute, text: str) -> str:
    displays = list(dict.fromkeys(choice.display for choice in attribute.choices))
    allowed = f"it has {', '.join(displays[:12])}{', …' if len(displays) > 12 else ''}"
    words = [word for choice in attribute.choices for word in dict.fromkeys((choice.display, choice.name))]
    folded: Mapping[str, str] = {word.lower(): word for word in reversed(words)}
    close = get_close_matches(text.lower(), folded, n=1, cutoff=0.6)
    return f"did you mean {folded[close[0]]!r}? {allowed}" if close else allowed


def _integer(attribute: Attribute, written: Value) -> int:
    text = _as_text(written)
    if isinstance(written, bool) or not re.fullmatch(r"-?(0|[1-9][0-9]*)", text):
        raise ValueProblem(f"takes a whole number, not {text!r}")
    value = int(text)
    low, high, step = attribute.lower, attribute.upper, attribute.step
    if low is not None and high is not None and high < low:
        return value  # bounds such as 0 to -1 are an overflow in the registry; the BMC decides
    if (low is not None and value < low) or (high is not None and value > high):
        raise ValueProblem(f"takes {_bound(low)} to {_bound(high)}, not {value}")
    if step is not None and step > 1 and (value - (low or 0)) % step:
        raise ValueProblem(f"takes steps of {step} from {low or 0}, not {value}")
    return value


def _bound(value: int | None) -> str:
    return "any" if value is None else str(value)


def _boolean(written: Value) -> bool:
    text = _as_text(written).lower()
    if text not in ("true", "false"):
        raise ValueProblem(f"takes true or false, not {_as_text(written)!r}")
    return text == "true"


def _string(attribute: Attribute, written: Value) -> str:
    text = _as_text(written) if not isinstance(written, str) else written
    low, high = attribute.min_length, attribute.max_length
    if (low is not None and len(text) < low) or (high is not None and len(text) > high):
        raise ValueProblem(f"takes {low or 0} to {_bound(high)} characters, not {len(text)}")
    if attribute.expression and not _matches(attribute.expression, text):
        raise ValueProblem(f"takes text of the form {attribute.expression}")
    return text


def _matches(expression: str, text: str) -> bool:
    """A pattern that Python cannot read refuses nothing: the BMC decides, and the read-back shows it."""
    try:
        return re.search(expression, text) is not None
    except re.error:
        return True
