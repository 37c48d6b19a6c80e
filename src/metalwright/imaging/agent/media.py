"""``media.json``: what this boot medium is for, and the secrets that only it carries."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

from metalwright.imaging.agent.failures import AgentError
from metalwright.imaging.agent.records import Json, Network

MEMBER_NAME = b"metalwright/media.json"
_NEWC_HEADER_BYTES = 110


class Media(NamedTuple):
    """The medium's content; ``network`` ``None`` means DHCP on all ports.

    Without ``token`` and ``nonce`` it came by a network boot: both are claimed from the boot server.
    """

    node: str
    control_url: str
    server_cert_pem: str
    token: str | None
    nonce: str | None
    network: Network | None


def read_media(path: Path) -> Media:
    """Read ``media.json``, or find it inside a boot medium (an ISO whose ramdisk carries it as a cpio member)."""
    raw = path.read_bytes()
    text = raw if raw.lstrip()[:1] == b"{" else _find_member(raw, str(path))
    try:
        data: Json = json.loads(text)
        if data["schema"] != 1:
            raise AgentError("internal", "the medium speaks another protocol", expected="1", found=str(data["schema"]))
        network = Network(**data["network"]) if data["network"] else None
        return Media(data["node"], data["control_url"], data["server_cert_pem"], data["token"], data["nonce"], network)
    except (ValueError, KeyError, TypeError) as error:
        raise AgentError("internal", f"{path} is not a media.json: {type(error).__name__}") from error


def _find_member(raw: bytes, where: str) -> bytes:
    """Return the bytes of the uncompressed cpio (newc) member inside ``raw``; the last one wins, as in the kernel."""
    position = raw.rfind(MEMBER_NAME + b"\0")
    start = position - _NEWC_HEADER_BYTES
    if position < 0 or raw[start : start + 6] != b"070701":
        raise AgentError("internal", f"{where} carries no {MEMBER_NAME.decode()}")
    size = int(raw[start + 54 : start + 62], 16)
    name_size = int(raw[start + 94 : start + 102], 16)
    data = start + (_NEWC_HEADER_BYTES + name_size + 3) // 4 * 4
    return raw[data : data + size]
