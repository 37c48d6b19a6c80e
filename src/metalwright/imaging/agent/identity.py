"""Who this machine is, and whether it is the one that was declared."""

from __future__ import annotations

import uuid as uuid_module
from pathlib import Path

from metalwright.imaging.agent.failures import AgentError
from metalwright.imaging.agent.records import Expect, Identity

_ETHERNET_TYPE = "1"


def read_identity(sys: Path = Path("/sys")) -> Identity:
    """Read SMBIOS serial and UUID and the MACs of the physical Ethernet ports."""
    dmi = sys / "class/dmi/id"
    return Identity(_read_text(dmi / "product_serial"), _read_text(dmi / "product_uuid"), read_macs(sys))


def read_macs(sys: Path = Path("/sys")) -> tuple[str, ...]:
    """Return the permanent-looking MACs of all ports that have a device behind them, sorted."""
    macs = set()
    for port in (sys / "class/net").iterdir():
        if (port / "device").exists() and _read_text(port / "type") == _ETHERNET_TYPE:
            macs.add((_read_text(port / "address") or "").lower())
    return tuple(sorted(macs - {"", "00:00:00:00:00:00"}))


def check_identity(identity: Identity, expect: Expect) -> None:
    """Raise :class:`AgentError` (code ``identity``) unless every declared key agrees."""
    if not expect.keys:
        raise AgentError("identity", "no identity key is declared", expected="at least one key", found="none")
    wrong = [key for key in expect.keys if not _agrees(key, identity, expect)]
    if wrong:
        raise AgentError(
            "identity",
            f"this machine is not the declared one: {', '.join(wrong)} differs",
            expected=_describe(wrong, expect.serial, expect.uuid, expect.macs),
            found=_describe(wrong, identity.serial, identity.uuid, identity.macs),
        )


def uuid_forms(text: str | None) -> frozenset[str]:
    """Return the UUID in both byte orders; empty when ``text`` is no UUID (then it agrees with nothing)."""
    try:
        value = uuid_module.UUID(text or "")
    except ValueError:
        return frozenset()
    return frozenset({str(value), str(uuid_module.UUID(bytes_le=value.bytes))})


def _agrees(key: str, identity: Identity, expect: Expect) -> bool:
    if key == "serial":
        return bool(expect.serial) and identity.serial == expect.serial
    if key == "uuid":
        return bool(uuid_forms(expect.uuid) & uuid_forms(identity.uuid))
    if key == "macs":
        return bool({mac.lower() for mac in expect.macs} & set(identity.macs))
    return False


def _describe(keys: list[str], serial: str | None, uuid: str | None, macs: tuple[str, ...]) -> str:
    values = {"serial": serial, "uuid": uuid, "macs": " ".join(macs) or None}
    return ", ".join(f"{key} {values.get(key)}" for key in keys)


def _read_text(path: Path) -> str | None:
    try:
        return path.read_text(errors="replace").strip() or None
    except OSError:
        return None
