"""What every model shares: frozen, strict about keys, and the scalar types with their one normal form."""

from __future__ import annotations

import re
import socket
import uuid as uuidlib
from functools import lru_cache
from typing import Annotated, Any

import netaddr
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

FILLER_VALUES = frozenset(
    {
        "",
        "na",
        "n/a",
        "none",
        "null",
        "unknown",
        "default string",
        "to be filled by o.e.m.",
        "to be filled by oem",
        "not specified",
        "not available",
        "system serial number",
        "0123456789",
        "123456789",
        "01234567890123456789ab",
    }
)

_SEPARATORS = frozenset("-:._/ \t\n\r\f\v")
_NORMAL_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_NORMAL_MAC = re.compile(r"[0-9a-f]{2}(:[0-9a-f]{2}){5}")


class Frozen(BaseModel):
    """Base of all models: immutable, unknown keys refused, aliases accepted."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", populate_by_name=True, ser_json_inf_nan="constants", defer_build=True
    )

    def to_json(self) -> dict[str, Any]:
        """Plain JSON types, with the names that people write (aliases)."""
        return self.model_dump(mode="json", by_alias=True)


def is_filler(value: str | None) -> bool:
    """Whether an identity value says nothing: absent, blank, zeros, a repeated character or a known filler text."""
    if value is None:
        return True
    text = value.strip().lower()
    return text in FILLER_VALUES or len(set(text) - _SEPARATORS) <= 1


def normal_mac(value: str) -> str:
    """One form for a 6-octet MAC address: lower case with colons.

    Raises:
        ValueError: not six octets (InfiniBand's 20-octet addresses included), or all zeros.
    """
    if _NORMAL_MAC.fullmatch(value) and value != "00:00:00:00:00:00":
        return value
    bare = re.sub(r"[-:.\s]", "", value.strip()).lower()
    if not re.fullmatch(r"[0-9a-f]{12}", bare):
        raise ValueError(f"{value!r} is not a MAC address of six octets")
    if bare == "0" * 12:
        raise ValueError("a MAC address of all zeros names no port")
    return ":".join(bare[index : index + 2] for index in range(0, 12, 2))


def normal_uuid(value: str) -> str:
    """Lower-case canonical form of a UUID.

    Raises:
        ValueError: not a UUID.
    """
    return value if _NORMAL_UUID.fullmatch(value) else str(uuidlib.UUID(value.strip()))


@lru_cache(maxsize=1 << 16)
def uuid_forms(value: str) -> frozenset[str]:
    """A UUID as written and with its first three fields byte-swapped (SMBIOS before 2.6 and some BMCs differ)."""
    text = normal_uuid(value)
    swapped = f"{text[6:8]}{text[4:6]}{text[2:4]}{text[:2]}-{text[11:13]}{text[9:11]}-{text[16:18]}{text[14:16]}"
    return frozenset({text, f"{swapped}{text[18:]}"})


def _normal_sha256(value: str) -> str:
    text = value.strip().lower().removeprefix("sha256:")
    if not re.fullmatch(r"[0-9a-f]{64}", text):
        raise ValueError(f"a sha256 digest has 64 hexadecimal digits, this has {len(text)}: {value!r}")
    return text


def _normal_prefix(value: str) -> str:
    try:
        network = netaddr.IPNetwork(value)
    except (netaddr.AddrFormatError, ValueError) as error:
        raise ValueError(f"{value!r} is not an IP prefix such as 10.1.0.0/24") from error
    if str(network.cidr) != str(network):
        raise ValueError(f"{value!r} has host bits set; the prefix is {network.cidr}")
    return str(network.cidr)


_NORMAL_V4 = re.compile(r"((25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(\.(?!$)|$)){4}")


def _normal_address(value: str) -> str:
    if _NORMAL_V4.fullmatch(value):
        return value
    try:
        return str(netaddr.IPAddress(value, flags=netaddr.INET_PTON))
    except (netaddr.AddrFormatError, ValueError) as error:
        raise ValueError(f"{value!r} is not an IP address") from error


@lru_cache(maxsize=1 << 17)
def address_order(address: str) -> tuple[int, int]:
    """IP version and value of a valid address: the order of addresses, IPv4 first."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    return 6 if family is socket.AF_INET6 else 4, int.from_bytes(socket.inet_pton(family, address))


def _no_bool(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError("expected a whole number, found a boolean")
    return value


Slug = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?$", strict=True)]
"""A name that is safe in file names, host names and labels."""

VersionText = Annotated[str, StringConstraints(pattern=r"^[0-9A-Za-z][0-9A-Za-z.+~:_-]*$", strict=True)]
"""A version, kept as the text that was written."""

SemVer = Annotated[str, StringConstraints(pattern=r"^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)$", strict=True)]
BlueprintRef = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9.-]*@\d+\.\d+\.\d+$", strict=True)]
Text = Annotated[str, StringConstraints(strict=True)]
Mac = Annotated[str, AfterValidator(normal_mac)]
Uuid = Annotated[str, AfterValidator(normal_uuid)]
Sha256 = Annotated[str, AfterValidator(_normal_sha256)]
Prefix = Annotated[str, AfterValidator(_normal_prefix)]
Address = Annotated[str, AfterValidator(_normal_address)]
Vlan = Annotated[int, BeforeValidator(_no_bool), Field(ge=1, le=4094, strict=True)]
Count = Annotated[int, BeforeValidator(_no_bool), Field(ge=0)]
Positive = Annotated[int, BeforeValidator(_no_bool), Field(gt=0)]
