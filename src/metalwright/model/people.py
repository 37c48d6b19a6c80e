"""The people of a site, what they may do on its nodes, and how they and metalwright get in."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, StringConstraints, model_validator

from metalwright.model.base import Frozen, Slug, Text


def _plain_number(value: object) -> object:
    """A serial number may be written without quotes."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


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


SerialRange = Annotated[str, BeforeValidator(_plain_number), StringConstraints(pattern=r"^[0-9]{1,19}(-[0-9]{1,19})?$")]
"""The serial number of a certificate, or ``first-last``."""

KeyId = Annotated[str, StringConstraints(pattern=r"^[^\s#]([^\n\r]*[^\s])?$", strict=True)]
"""The identity that a certificate was given, in one line."""


class RevokedCertificates(Frozen):
    """Certificates of one authority that open nothing any more; left out, it is the only one of the site."""

    authority: PublicKey | None = None
    serials: tuple[SerialRange, ...] = ()
    key_ids: tuple[KeyId, ...] = ()

    @model_validator(mode="after")
    def _name_something(self) -> RevokedCertificates:
        if not self.serials and not self.key_ids:
            raise ValueError("revoked certificates are named by serials or key_ids")
        for text in self.serials:
            first, _, last = text.partition("-")
            if int(first) == 0:
                raise ValueError("serial 0 is that of certificates without a number: revoke them by key_ids")
            if last and int(last) < int(first):
                raise ValueError(f"serials {text} run backwards")
        return self


class SshSettings(Frozen):
    """How metalwright itself logs in to nodes; ``private_key`` is a path, ``None`` means the agent or default keys.

    ``certificate_authorities`` are public keys that may sign certificates of people; ``revoked_keys`` public keys that
    open nothing any more, neither by themselves nor in a certificate, nor as an authority. ``revoked_certificates`` are
    single ones, by serial number or identity.
    """

    user: Slug = "metalwright"
    private_key: Text | None = None
    connect_timeout_s: float = Field(default=10.0, gt=0)
    certificate_authorities: tuple[PublicKey, ...] = ()
    revoked_keys: tuple[PublicKey, ...] = ()
    revoked_certificates: tuple[RevokedCertificates, ...] = ()

    @model_validator(mode="after")
    def _authorities_are_known(self) -> SshSettings:
        for revoked in self.revoked_certificates:
            if revoked.authority is None and len(self.certificate_authorities) != 1:
                raise ValueError("revoked_certificates name their authority, unless there is just one authority")
            if revoked.authority is not None and revoked.authority not in self.certificate_authorities:
                raise ValueError("revoked_certificates name an authority that is not one of certificate_authorities")
        return self

    def revoked_by_authority(self) -> dict[str, list[str]]:
        """Authority → lines for ``ssh-keygen -k -s``."""
        found: dict[str, list[str]] = {}
        for revoked in self.revoked_certificates:
            lines = found.setdefault(revoked.authority or self.certificate_authorities[0], [])
            lines += [f"serial: {serials}" for serials in revoked.serials]
            lines += [f"id: {key_id}" for key_id in revoked.key_ids]
        return found
