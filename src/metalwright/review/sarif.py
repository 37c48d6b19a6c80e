"""Refusals and policies as SARIF 2.1.0, which code hosts show at the line in question. Pure."""

from __future__ import annotations

import json
from typing import Any

from metalwright import __version__
from metalwright.model.review import Review

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {"fail": "error", "open": "warning"}
_POLICIES = "inventory/policies.yaml"


def render_sarif(review: Review) -> str:
    """One run with one result for each refusal and each policy that is not met."""
    results = [_result(item.rule, "error", item.what, item.file, item.line) for item in review.refused]
    results += [
        _result(f"policy/{item.name}", _LEVELS[item.verdict], item.why, _POLICIES, None)
        for item in review.policies
        if item.verdict in _LEVELS
    ]
    rules = [{"id": name} for name in dict.fromkeys(result["ruleId"] for result in results)]
    driver = {"name": "metalwright", "version": __version__, "rules": rules}
    body = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [{"tool": {"driver": driver}, "results": results}]}
    return json.dumps(body, indent=2, ensure_ascii=False) + "\n"


def _result(rule: str, level: str, text: str, file: str, line: int | None) -> dict[str, Any]:
    place: dict[str, Any] = {"artifactLocation": {"uri": file}}
    if line is not None:
        place["region"] = {"startLine": line}
    return {
        "ruleId": rule,
        "level": level,
        "message": {"text": text},
        "locations": [{"physicalLocation": place}],
    }
