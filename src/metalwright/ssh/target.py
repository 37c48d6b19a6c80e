"""Whom to reach over SSH."""

from __future__ import annotations

import base64
from dataclasses import dataclass

from paramiko import PKey
from paramiko.pkey import UnknownKeyType
from paramiko.ssh_exception import SSHException

from metalwright.errors import SshHostKeyError
from metalwright.model.rack import Node
from metalwright.model.repository import SiteRepository


@dataclass(frozen=True)
class Target:
    """One node's SSH service: ``node`` is our name of it, ``hostname`` an address or a name that resolves."""

    node: str
    hostname: str
    port: int = 22
    user: str = "root"

    def __str__(self) -> str:
        return f"{self.node} {self.user}@{self.hostname}:{self.port}"


def target_of(repository: SiteRepository, node: Node) -> Target | None:
    """Where SSH to ``node`` goes: as its rack file says, else its own host-management address; None without one."""
    user = repository.site.ssh.user
    if node.ssh is not None:
        return Target(node.name, node.ssh.host, node.ssh.port, user)
    network = repository.network_of_purpose("host-management")
    address = repository.addresses.of_node(node.name).get(network.name) if network is not None else None
    return Target(node.name, address, user=user) if address is not None else None


def normal_host_key(text: str) -> str:
    """``TYPE BASE64`` of a public host key line, without its comment; refuses what is no key.

    Raises :class:`SshHostKeyError`.
    """
    parse_host_key(text)
    return " ".join(text.split()[:2])


def parse_host_key(text: str) -> PKey:
    """The key object of a ``TYPE BASE64 [COMMENT]`` line; raises :class:`SshHostKeyError`."""
    words = text.split()
    try:
        if "\n" in text.strip() or len(words) < 2:
            raise ValueError("not one line of two words")
        key = PKey.from_type_string(words[0], base64.b64decode(words[1], validate=True))
    except (ValueError, SSHException, UnknownKeyType) as error:
        raise SshHostKeyError(
            "this is not a public SSH host key",
            expected="one line such as 'ssh-ed25519 AAAA…'",
            found=repr(text[:80]),
            hint="the deploy ramdisk reports the key that it made; see `metalwright journal NODE`",
        ) from error
    return key
