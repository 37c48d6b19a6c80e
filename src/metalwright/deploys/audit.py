"""What the kernel's audit keeps account of."""

from __future__ import annotations

from pyinfra import host
from pyinfra.api import deploy

from metalwright.deploys.rendering import rendered_files
from metalwright.model.audit_rules import AUDIT_UNIT
from metalwright.node_files import AUDIT_RULES, audit_files
from metalwright.operations.audit import audited
from metalwright.operations.files import rendered
from metalwright.operations.systemd import running


@deploy("Audit", data_defaults={"audit_rules": None})
def audit() -> None:
    """auditd with the rules of the blueprint, read back from the kernel. Its package comes with the others.

    Rules of others in ``/etc/audit/rules.d`` are left alone.
    """
    rules = host.data.audit_rules
    rendered(name="Audit rules", files=rendered_files(audit_files(rules)))
    running(name="Audit daemon", units=[AUDIT_UNIT] if rules is not None else [], settle_s=0.0)
    audited(name="Audit in force", rules=rules, path=AUDIT_RULES)
