"""Refusals and policies as SARIF 2.1.0, which code hosts show at the line in question. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote

from metalwright import __version__
from metalwright.model.review import PolicyResult, Refusal, Review

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {"fail": "error", "open": "warning"}
_POLICIES = "inventory/policies.yaml"
_POLICY_HINTS = {
    "fail": "change what the rule names, or have the rule itself changed in a review of its own",
    "open": "say what git cannot show: metalwright review --approved-by NAME",
}
_HELP = "docs/how-to/review-a-change.md explains what a review refuses."


def render_sarif(review: Review) -> str:
    """One run with one result for each refusal and each policy that is not met. What to do is the help of the rule."""
    policies = [item for item in review.policies if item.verdict in _LEVELS]
    results = [*map(_refusal, review.refused), *map(_policy, policies)]
    hints: dict[str, dict[str, None]] = {}
    for rule, hint in _hints(review.refused, policies):
        hints.setdefault(rule, {})[hint] = None
    indices = {rule: index for index, rule in enumerate(hints)}
    for result in results:
        result["ruleIndex"] = indices[result["ruleId"]]
    driver = {"name": "metalwright", "version": __version__, "rules": [_rule(*item) for item in hints.items()]}
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=False) + "\n"


def _hints(refusals: Iterable[Refusal], policies: Iterable[PolicyResult]) -> Iterable[tuple[str, str]]:
    """Rule and hint of every result, in their order."""
    for refusal in refusals:
        yield refusal.rule, refusal.hint or _HELP
    for policy in policies:
        yield _policy_rule(policy), _POLICY_HINTS[policy.verdict]


def _rule(name: str, hints: Mapping[str, None]) -> dict[str, Any]:
    text = "\n".join(hints)
    markdown = "\n".join(f"- {hint}" for hint in hints)
    return {"id": name, "help": {"text": text, "markdown": markdown}}


def _refusal(item: Refusal) -> dict[str, Any]:
    return _result(item.rule, "error", item.what, item.hint or _HELP, _place(item.file, item.line, item.column))


def _policy(item: PolicyResult) -> dict[str, Any]:
    return _result(
        _policy_rule(item), _LEVELS[item.verdict], item.why, _POLICY_HINTS[item.verdict], _place(_POLICIES, None, None)
    )


def _policy_rule(item: PolicyResult) -> str:
    return f"policy/{item.name}"


def _place(file: str, line: int | None, column: int | None) -> dict[str, Any]:
    """A place of SARIF; ``file`` is written as a reference, in which a blank is no character."""
    place: dict[str, Any] = {"artifactLocation": {"uri": quote(file)}}
    if line is not None:
        place["region"] = {"startLine": line, **({"startColumn": column} if column is not None else {})}
    return {"physicalLocation": place}


def _result(rule: str, level: str, text: str, hint: str, place: Mapping[str, Any]) -> dict[str, Any]:
    message = {"text": f"{text}\n\nhint: {hint}", "markdown": f"{text}\n\n**hint:** {hint}"}
    return {"ruleId": rule, "level": level, "message": message, "locations": [place]}
