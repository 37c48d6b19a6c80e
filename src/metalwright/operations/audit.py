"""The kernel's audit: rules that are in the kernel, not only in a file."""

from __future__ import annotations

from collections.abc import Sequence

from pyinfra import host
from pyinfra.api import QuoteString, StringCommand

from metalwright.errors import DeployError
from metalwright.facts.audit import AuditRules
from metalwright.facts.files import FileStates
from metalwright.operations.differences import line, show_diff
from metalwright.operations.failure import Commands, answer, node_operation, step

NOTHING = "the blueprint asks for no audit"
LOAD = "augenrules --load"


@node_operation
def audited(rules: Sequence[str] | None, path: str) -> Commands:
    """The kernel has ``rules`` and no others of ours, and heeds them; None: ours are gone, with their file.

    A kernel that does not let itself be asked fails the host.
    """
    if rules is None:
        yield from _without_rules(path)
        return
    state = answer(AuditRules)
    if set(state["rules"]) == set(rules) and state["is_enabled"]:
        host.noop("the rules are loaded")
        return
    switch = [] if state["is_enabled"] else [line("the kernel's audit", state["refusal"] or "off", "on")]
    show_diff([*switch, *_differences(rules, state["rules"])])
    yield StringCommand(f"{LOAD} || true")  # what the kernel has afterwards is what counts, and says more
    if switch:
        yield StringCommand("auditctl -e 1 || true")
    yield step(_require, list(rules))


def _differences(wanted: Sequence[str], loaded: Sequence[str]) -> list[str]:
    missing = [line(f"audit rule {rule}", "absent", "loaded") for rule in wanted if rule not in loaded]
    return [*missing, *(line(f"audit rule {rule}", "loaded", "absent") for rule in loaded if rule not in wanted)]


def _without_rules(path: str) -> Commands:
    """What an earlier blueprint had watched; auditd itself stays, others may count on it."""
    if path not in answer(FileStates, paths=[path]):
        host.noop(NOTHING)
        return
    show_diff([line(f"file {path}", "there", "absent")])
    yield StringCommand("rm", QuoteString(path))
    yield StringCommand(f"! command -v augenrules > /dev/null || {LOAD}")


def _require(rules: Sequence[str]) -> None:
    state = answer(AuditRules)
    missing = [rule for rule in rules if rule not in state["rules"]]
    if state["refusal"] is None and state["is_enabled"] and not missing:
        return
    off = [] if state["is_enabled"] else ["audit is off"]
    raise DeployError(
        "the kernel does not audit what the blueprint says",
        where=host.name,
        expected=f"{len(rules)} rules of ours in `auditctl -l`, audit enabled",
        found=state["refusal"] or "; ".join([*off, *(f"missing: {rule}" for rule in missing[:3])]),
        hint="a kernel started with audit=0 and a container have no audit: leave security.audit out of their blueprint",
    )
