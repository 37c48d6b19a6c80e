"""The people of a site, what they may do on its nodes, and how they and metalwright get in."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from metalwright.model.base import Frozen, Slug, Text

SudoCommand = Annotated[str, StringConstraints(pattern=r"^(/[A-Za-z0-9_.+-]+)+( [A-Za-z0-9_./+@%=:-]+)*$", strict=True)]
"""``/usr/bin/systemctl restart slurmd.service``: exactly these arguments; a path alone: any arguments."""

PublicKey = Annotated[
    str,
    StringConstraints(
        pattern=r"^(ssh-(ed25519|rsa)|ecdsa-sha2-nistp(256|384|521)|sk-[a-z0-9@.-]+) [A-Za-z0-9+/=]+( [^\n]*)?$",
        strict=True,
    ),
]
"""One line of a ``.pub`` file."""

Principal = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._@:+-]*$", strict=True)]
"""A name that a certificate of a user is made out to."""


class AdminUser(Frozen):
    """A person with an account on every node.

    ``sudo``: ``all``, ``none``, or the commands that the person may run as root, without a password. ``principals`` are
    the names of certificates that open the account, signed by one of ``ssh.certificate_authorities``.
    """

    name: Slug
    authorized_keys: tuple[Text, ...] = ()
    sudo: Literal["all", "none"] | tuple[SudoCommand, ...] = "all"
    principals: tuple[Principal, ...] = ()

    @model_validator(mode="after")
    def _can_log_in(self) -> AdminUser:
        if not self.authorized_keys and not self.principals:
            raise ValueError(f"{self.name} has neither authorized_keys nor principals, so nobody could log in")
        if self.sudo == ():
            raise ValueError(f"sudo of {self.name} is an empty list: write none")
        return self


class SshSettings(Frozen):
    """How metalwright itself logs in to nodes; ``private_key`` is a path, ``None`` means the agent or default keys.

    ``certificate_authorities`` are public keys that may sign certificates of people; ``revoked_keys`` public keys that
    open nothing any more, neither by themselves nor in a certificate, nor as an authority.
    """

    user: Slug = "metalwright"
    private_key: Text | None = None
    connect_timeout_s: float = Field(default=10.0, gt=0)
    certificate_authorities: tuple[PublicKey, ...] = ()
    revoked_keys: tuple[PublicKey, ...] = ()
