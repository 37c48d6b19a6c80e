"""What the kernel's audit watches."""

from __future__ import annotations

from typing import TypedDict

from pyinfra.api.exceptions import FactProcessError

from metalwright.acceptance.readings import AUDIT_STATE, audit_state
from metalwright.facts.answers import NodeFact


class KernelAudit(TypedDict):
    """``rules`` of ours that are loaded; ``is_enabled``: whether the kernel heeds them. ``refusal``: why it does not
    tell, ``None`` when it does."""

    rules: tuple[str, ...]
    is_enabled: bool
    refusal: str | None


class AuditRules(NodeFact[KernelAudit]):
    """Rules in the kernel, not those of a file."""

    def command(self) -> str:
        """Marked lines and a closing one."""
        return AUDIT_STATE

    def process(self, output: list[str]) -> KernelAudit:
        """See :func:`metalwright.acceptance.readings.audit_state`."""
        state = audit_state("\n".join(output))
        if state is None:
            raise FactProcessError(f"auditctl was not asked: {output[-3:]}")
        return {"rules": state.rules, "is_enabled": state.is_enabled, "refusal": state.refusal}
