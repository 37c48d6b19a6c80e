"""The boot server's half of the identity check: the machine that says hello must be the declared one."""

from __future__ import annotations

from metalwright.model.agent_protocol import BootIdentity, ExpectedIdentity
from metalwright.model.base import uuid_forms


def find_mismatches(expected: ExpectedIdentity, found: BootIdentity) -> tuple[str, ...]:
    """Return the declared keys that do not agree; a key without a declared or found value does not agree."""
    agrees = {
        "serial": bool(expected.serial) and expected.serial == found.serial,
        "uuid": bool(_forms(expected.uuid) & _forms(found.uuid)),
        "macs": bool({mac.lower() for mac in expected.macs} & {mac.lower() for mac in found.macs}),
    }
    return tuple(key for key in expected.keys if not agrees[key])


def describe_identity(keys: tuple[str, ...], identity: ExpectedIdentity | BootIdentity) -> str:
    """Return the named keys with their values, for people."""
    values = {"serial": identity.serial, "uuid": identity.uuid, "macs": " ".join(identity.macs) or None}
    return ", ".join(f"{key} {values[key]}" for key in keys)


def _forms(uuid: str | None) -> frozenset[str]:
    try:
        return uuid_forms(uuid or "")
    except ValueError:
        return frozenset()
