"""Phase *harden*: the BMC offers what is needed and no more; lockdown comes last."""

from __future__ import annotations

from typing import Any

from pyinfra.api.deploy import deploy
from pyinfra.context import host

from metalwright.model.site import HARDENING_TITLES, Hardening, HardeningItem
from metalwright.operations.redfish import accounts, certificate, manager


@deploy("BMC hardening")
def harden() -> None:
    """Protocols, clock, log, lock-out, default accounts, certificate; the lockdown last: it would refuse the others."""
    wanted = Hardening.model_validate(host.data.get("hardening") or {})
    manager.protocols(**_arguments("protocols", wanted), wanted=dict(wanted.protocols))
    manager.clock(**_arguments("clock", wanted), servers=host.data.get("ntp_servers") or [])
    manager.syslog(**_arguments("syslog", wanted), servers=list(wanted.syslog))
    lockout = wanted.lockout
    accounts.lockout(
        **_arguments("lockout", wanted),
        threshold=lockout.threshold if lockout else None,
        duration_s=lockout.duration_s if lockout else None,
    )
    users = host.data.get("default_bmc_users") or []
    accounts.barred(
        **_arguments("default-accounts", wanted), users=users if wanted.default_accounts == "disabled" else []
    )
    certificate.https_certificate(**_arguments("certificate", wanted), is_wanted=wanted.certificate is not None)
    manager.lockdown(**_arguments("lockdown", wanted), is_wanted=wanted.lockdown)


def _arguments(item: HardeningItem, wanted: Hardening) -> dict[str, Any]:
    return {"name": HARDENING_TITLES[item], "is_required": item in wanted.required}
