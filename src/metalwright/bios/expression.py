"""Joining the terms of a dependency, in the three ways in which registries write their operators.

- After each term come the operators that join what stands before it, several where terms are grouped (AMI; evaluated
  from left to right as the standard says, with a stack).
- The operator stands at the term before it, and the last term has none (Lenovo).
- There is none: any term is enough. Dell's registries list several values of one attribute so, and a registry that was
  exported with the flags in force agrees with this reading in each of its rules.
"""

from __future__ import annotations

from collections.abc import Sequence

Truth = bool | None
"""``None`` is unknown."""


def evaluate(operators: Sequence[tuple[str, ...]], terms: Sequence[Truth]) -> Truth:
    """Whether the whole holds. ``operators[i]`` are written at ``terms[i]``; unknown where nobody can tell."""
    if not any(operators):
        return any_of(terms)
    stack: list[Truth] = []
    for names, term in zip(_behind(operators), terms, strict=True):
        stack.append(term)
        for name in names:
            if name == "NOT":
                stack.append(_negated(stack.pop()))
            elif name in ("AND", "OR") and len(stack) > 1:
                right, left = stack.pop(), stack.pop()
                stack.append(any_of((left, right)) if name == "OR" else all_of((left, right)))
            else:
                return None
    return stack[0] if len(stack) == 1 else None


def any_of(terms: Sequence[Truth]) -> Truth:
    """OR: true as soon as one is; unknown where the unknown ones decide."""
    return True if True in terms else (None if None in terms else False)


def all_of(terms: Sequence[Truth]) -> Truth:
    """AND: false as soon as one is; unknown where the unknown ones decide."""
    return False if False in terms else (None if None in terms else True)


def _negated(term: Truth) -> Truth:
    return None if term is None else not term


def _behind(operators: Sequence[tuple[str, ...]]) -> Sequence[tuple[str, ...]]:
    """The operators, each at the term after which it joins."""
    *most, last = operators
    if not last and all(len(names) == 1 for names in most):
        return [(), *most]
    if operators[0] in (("AND",), ("OR",)):
        return [(), *operators[1:]]  # there is nothing before the first term to join it with
    return operators
