"""The certificate that the BMC shows over HTTPS."""

from __future__ import annotations

from typing import Any

from pyinfra import logger
from pyinfra.api.command import StringCommand
from pyinfra.api.operation import operation
from pyinfra.context import host

from metalwright.facts.redfish import HttpsCertificate
from metalwright.operations.redfish.requests import Commands, contained, line, look, not_offered, show_diff, unreadable

PROOF_S = 180.0
"""How long a BMC may take to show its new certificate: some restart their web server for it."""


@operation()
@contained
def https_certificate(is_wanted: bool, is_required: bool = False) -> Commands:
    """Have the BMC show a certificate of the site's authority for its name and address, and renew it in time.

    The BMC makes the key where it can; where it only takes one, it is made here, sent over the pinned connection and
    kept nowhere. The new certificate is announced in the journal before it is installed; once the BMC shows exactly
    that one, it is pinned and the earlier one is accepted no longer.
    """
    if not is_wanted:
        host.noop("no certificate is declared")
        return
    seen = look(HttpsCertificate)
    if seen is None:
        yield unreadable("its certificate")
        return
    if not seen["why"]:
        host.noop(f"the certificate is as wanted, until {seen['shown']['expires'][:10]}")
        return
    if seen["offers"] is None:
        yield from not_offered("way to replace its certificate", is_required=is_required)
        return
    show_diff(_lines(seen))
    if seen["offers"] == "key":
        host.log(
            "this BMC makes no key for its certificate: it is sent one, which is kept nowhere else", logger.warning
        )
    yield StringCommand("CERTIFICATE", "renew", "--within", f"{PROOF_S:g}")


def _lines(seen: dict[str, Any]) -> list[str]:
    """Subject and validity, now and wanted; and why."""
    shown, wanted = seen["shown"], seen["wanted"]
    return [
        line("certificate subject", shown["subject"], wanted["subject"]),
        line("certificate names", ", ".join(shown["names"]) or "none", ", ".join(wanted["names"])),
        line("certificate authority", shown["issuer"], wanted["issuer"]),
        line(
            "certificate expires",
            f"{shown['expires'][:10]} ({'; '.join(seen['why'])})",
            f"in {wanted['valid_days']} days",
        ),
    ]
