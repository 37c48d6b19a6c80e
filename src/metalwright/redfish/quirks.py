"""What some BMCs do differently, as data, each with its evidence.

A quirk names the vendors that it was seen at and changes fields of :class:`Behaviour`. Where a difference can be seen
in an answer (a refusal, a missing link) the code reacts to the answer; a quirk is for what cannot be seen in time.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Behaviour:
    """How to talk to one BMC. The defaults are those of the specification."""

    vendor: str = ""
    is_connection_reused: bool = True
    not_ready_ids: frozenset[str] = frozenset({"SWC0700", "ServiceTemporarilyUnavailable", "ServiceInUnknownState"})
    """Last parts of message ids that mean "not now" on reads."""
    write_retry_ids: frozenset[str] = frozenset({"SYS518", "InvalidOperationForSystemState", "SWC0700"})
    """Last parts of message ids after which a *write* was surely not done and may be sent again."""
    sessions_full_ids: frozenset[str] = frozenset({"RAC0218", "SessionLimitExceeded"})
    login_refused_ids: frozenset[str] = frozenset({"UnauthorizedLoginAttempt", "InvalidCredentials", "AccountLocked"})
    virtual_cd_targets: tuple[str, ...] = ("Cd", "UsbCd")
    """Boot targets that start the virtual CD, best first."""
    is_boot_mode_sent: bool = True
    http_boot_attributes: tuple[str, ...] = ("HttpDev1Uri", "UrlBootFile")
    """BIOS attributes that take the URL of an HTTP boot where ``HttpBootUri`` is refused: Dell (libredfish #75, #76),
    HPE. The first one that the BIOS has is used."""
    names: tuple[str, ...] = field(default=())
    """Names of the quirks that are in force, for logs."""


@dataclass(frozen=True, slots=True)
class Quirk:
    """One difference: at which vendors (lower-case words found in the service root), what changes, who saw it."""

    name: str
    vendors: tuple[str, ...]
    changes: Mapping[str, Any]
    evidence: str


QUIRKS: tuple[Quirk, ...] = (
    Quirk(
        name="supermicro-usb-cd",
        vendors=("supermicro",),
        changes={"virtual_cd_targets": ("UsbCd", "Cd")},
        evidence="sushy release note change-bootdev-smc-ab30317eaf5c37d9: Cd is the physical drive on X11/X12",
    ),
    Quirk(
        name="emulator-boot-mode",
        vendors=("sushy-tools",),
        changes={"is_boot_mode_sent": False},
        evidence="sushy-tools 2.2 changes the mode only while the machine is off",
    ),
    Quirk(
        name="cisco-fresh-connections",
        vendors=("cisco",),
        changes={"is_connection_reused": False},
        evidence="sushy release note disable-conn-pooling-3456782afe56ac94: kept-alive connections are reset",
    ),
)


def vendor_of(root: Mapping[str, Any]) -> str:
    """Return what the service root says about its maker, in lower-case words; empty when it says nothing."""
    words = [str(root.get(key) or "") for key in ("Vendor", "Product", "Name")]
    oem = root.get("Oem")
    if isinstance(oem, Mapping):
        words += [str(key) for key in oem]
    return " ".join(words).strip().lower()


def behaviour_for(root: Mapping[str, Any]) -> Behaviour:
    """Return the behaviour for the BMC with this service root."""
    vendor = vendor_of(root)
    behaviour = Behaviour(vendor=vendor)
    for quirk in QUIRKS:
        if any(word in vendor for word in quirk.vendors):
            behaviour = dataclasses.replace(behaviour, **quirk.changes, names=(*behaviour.names, quirk.name))
    return behaviour
