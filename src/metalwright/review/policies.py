"""The site's own rules, judged: each by its name, with the reason. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import assert_never

from metalwright.errors import PlanError
from metalwright.model.addresses import KnownGoodLock
from metalwright.model.policies import Approvals, Blast, Canary, Freeze, Policies, Policy, Rebuilders, Removals
from metalwright.model.review import PolicyResult
from metalwright.review.impact import Impact

_OF_COMMIT = re.compile(r"(?P<name>.+)@(?P<commit>[0-9a-f]{7,64})")


@dataclass(frozen=True)
class Said:
    """Who approved the head that is reviewed, and who approved another commit instead: name → that commit."""

    people: tuple[str, ...]
    elsewhere: Mapping[str, str] = field(default_factory=dict)


def said_of(head: str, approvals: tuple[str, ...] | None) -> Said | None:
    """Read ``NAME`` (of whatever is reviewed) and ``NAME@COMMIT``; ``None`` stays nothing said.

    ``head`` is the reviewed commit; both it and those of approvals may be shortened.
    """
    if approvals is None:
        return None
    people, elsewhere = [], {}
    for text in approvals:
        parts = _OF_COMMIT.fullmatch(text)
        if parts is None or parts["commit"].startswith(head) or head.startswith(parts["commit"]):
            people.append(parts["name"] if parts is not None else text)
        else:
            elsewhere[parts["name"]] = parts["commit"]
    return Said(tuple(people), {name: commit for name, commit in elsewhere.items() if name not in people})


def judge(
    policies: Policies,
    impact: Impact,
    known_good: KnownGoodLock,
    now: datetime,
    approvals: Said | None = None,
) -> tuple[PolicyResult, ...]:
    """Every policy in the order written. ``approvals`` is ``None`` where nobody said who approved."""
    return tuple(_judge(policy, policies.roles, impact, known_good, now, approvals) for policy in policies.policies)


def _judge(
    policy: Policy,
    roles: Mapping[str, tuple[str, ...]],
    impact: Impact,
    known_good: KnownGoodLock,
    now: datetime,
    approvals: Said | None,
) -> PolicyResult:
    match policy:
        case Approvals():
            return _approvals(policy, roles[policy.role], impact, approvals)
        case Canary():
            return _canary(policy, impact, known_good)
        case Freeze():
            return _freeze(policy, impact, now)
        case Removals():
            return _removals(policy, impact)
        case Blast():
            count = impact.gpus_out_at_once
            said = f"{count} GPUs out of service at once, {policy.gpus} allowed"
            return PolicyResult(name=policy.name, verdict="fail" if count > policy.gpus else "pass", why=said)
        case Rebuilders():
            people = ", ".join(roles[policy.role])
            return PolicyResult(name=policy.name, verdict="pass", why=f"`rebuild` asks for it; it may be: {people}")
    assert_never(policy)


def rebuild_refusal(policies: Policies | None, person: str) -> PlanError | None:
    """Why this person may not start a rebuild, or ``None``."""
    if policies is None:
        return None
    for policy in policies.policies:
        if isinstance(policy, Rebuilders) and person not in policies.roles[policy.role]:
            people = ", ".join(policies.roles[policy.role]) or "nobody"
            return PlanError(
                f"the policy {policy.name} lets only people of the role {policy.role} rebuild",
                where="inventory/policies.yaml",
                expected=f"one of {people}",
                found=person,
                hint="ask one of them; who called sudo counts, not root",
            )
    return None


def _approvals(policy: Approvals, people: tuple[str, ...], impact: Impact, approvals: Said | None) -> PolicyResult:
    hit = next((item for item in impact.changes if item.risk in policy.risks or item.section in policy.sections), None)
    if hit is None:
        return PolicyResult(name=policy.name, verdict="pass", why="the change does not touch what it protects")
    need = f"{hit.section} changes: {policy.count} of {policy.role} must approve"
    if approvals is None:
        return PolicyResult(name=policy.name, verdict="open", why=f"{need}; who approved was not said (--approved-by)")
    counted = sorted(set(approvals.people) & set(people))
    stale = sorted(set(approvals.elsewhere) & set(people))
    verdict = "pass" if len(counted) >= policy.count else "fail"
    did = f"{need}; did: {', '.join(counted) or 'nobody'}"
    if stale:
        did += f"; approved another commit than this head: {', '.join(stale)}"
    return PolicyResult(name=policy.name, verdict=verdict, why=did)


def _canary(policy: Canary, impact: Impact, known_good: KnownGoodLock) -> PolicyResult:
    risky = {(change.base, change.blueprint) for change in impact.changes if change.risk in policy.risks}
    for ref in sorted({ref for _, ref in risky}):
        is_edited = (ref, ref) in risky  # what was proven under this name had another text
        moving = [node.node for node in impact.nodes if node.blueprint == ref and (is_edited or node.base != ref)]
        proven = 0 if is_edited else sum(item.blueprint == ref for item in known_good.nodes)
        if len(moving) > policy.nodes and proven < policy.nodes:
            why = f"{ref} goes to {len(moving)} nodes and is known good on {proven}: begin with {policy.nodes}"
            return PolicyResult(name=policy.name, verdict="fail", why=why)
    return PolicyResult(name=policy.name, verdict="pass", why="no unproven version goes to many nodes")


def _freeze(policy: Freeze, impact: Impact, now: datetime) -> PolicyResult:
    touched = [node for node in impact.nodes if node.phases]
    if not touched or not policy.start <= now < policy.end:
        return PolicyResult(name=policy.name, verdict="pass", why="no node changes in this time")
    until = f"{policy.end:%Y-%m-%d %H:%M %Z}".strip()
    why = f"{len(touched)} node(s) would change before {until}" + (f": {policy.why}" if policy.why else "")
    return PolicyResult(name=policy.name, verdict="fail", why=why)


def _removals(policy: Removals, impact: Impact) -> PolicyResult:
    count = len(impact.removed)
    why = f"{count} node(s) leave the inventory, {policy.nodes} allowed in one change"
    return PolicyResult(name=policy.name, verdict="fail" if count > policy.nodes else "pass", why=why)
