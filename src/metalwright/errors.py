"""Every error that metalwright raises on purpose.

::

    MetalwrightError
    ├── UsageError               the call itself is wrong (exit 64)
    ├── LoadingError             a file that people write: carries file:line:column
    │   └── InvalidFilesError    several of them at once
    ├── SecretError              a secret reference or the secret store
    ├── JournalError             the journal cannot be read or written
    │   └── LockHeldError        another writer holds the node
    ├── AddressError             no address can be given or kept
    ├── BiosError                an attribute that this BIOS would refuse
    ├── PlanError                a plan that cannot be made, or no longer holds
    ├── IdentityError            the machine is not the one that was declared
    ├── GrantError               a destructive act without a valid grant
    ├── ImageError               an image or boot medium that cannot be used
    ├── RedfishError             an exchange with a BMC: host, method, path, status
    │   ├── BmcUnreachableError  no answer in time
    │   │   ├── BmcTlsError      no TLS version or cipher in common
    │   │   └── BmcNoAnswerError a write was sent and not answered: its effect is unknown
    │   ├── BmcCertificateError  TLS key differs from the pinned one
    │   ├── BmcAuthError         login refused, or latched after a refusal
    │   ├── BmcAnswerError       an answer that is not what Redfish promises
    │   └── BmcRefusedError      a well-formed refusal (4xx/5xx with messages)
    ├── SshError                 our own SSH to a node's operating system: no command result
    │   ├── SshUnreachableError  no connection, or it broke
    │   ├── SshHostKeyError      the host key differs from the pinned one
    │   ├── SshAuthError         the login, or sudo, was refused
    │   └── SshTimeoutError      a command did not end in time
    ├── DeployError              a pyinfra run failed or did not happen
    ├── ReadBackError            a write was accepted but is not there
    ├── AcceptanceError          a check failed or could not run
    └── LabError                 the virtual lab

An error says what happened, to which object, what was expected and found, and what to do next. It never
carries a secret.
"""

from __future__ import annotations

from collections.abc import Sequence

_LONGEST_LINE = 4000


class MetalwrightError(Exception):
    """Base of all errors shown to people.

    ``what`` is one sentence without a full stop. ``where`` names the object: a node, a URI, a ``file:line:column``.
    """

    exit_code = 1

    def __init__(
        self,
        what: str,
        *,
        where: str = "",
        expected: str | None = None,
        found: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.expected = expected
        self.found = found
        self.hint = hint

    def __str__(self) -> str:
        lines = [f"{self.where}: {self.what}" if self.where else self.what]
        if self.expected is not None:
            lines.append(f"  expected: {self.expected}")
        if self.found is not None:
            lines.append(f"  found:    {self.found}")
        if self.hint is not None:
            lines.append(f"\nhint: {self.hint}")
        return "\n".join(_cut(line) for line in "\n".join(lines).split("\n"))


def _cut(line: str) -> str:
    """A line that a person can still read; what a machine answered or a file held may be of any length."""
    return line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]}… ({len(line)} characters)"


class UsageError(MetalwrightError):
    """The command line or a call is wrong."""

    exit_code = 64


class LoadingError(MetalwrightError):
    """A file that people write cannot be read; ``where`` is ``file:line:column``, ``rule`` the check that found it."""

    rule = "file"


class InvalidFilesError(LoadingError):
    """Everything that is wrong in a file or a site repository, reported together; ``errors`` has each."""

    def __init__(self, errors: Sequence[LoadingError]) -> None:
        flat = [
            part for error in errors for part in (error.errors if isinstance(error, InvalidFilesError) else (error,))
        ]
        super().__init__(f"{len(flat)} errors" if len(flat) != 1 else flat[0].what)
        self.errors: tuple[LoadingError, ...] = tuple(flat)

    def __str__(self) -> str:
        return "\n\n".join(str(error) for error in self.errors)


class SecretError(MetalwrightError):
    """A secret reference or the secret store; never carries the secret."""


class JournalError(MetalwrightError):
    """The journal cannot be read or written; nothing was changed."""


class LockHeldError(JournalError):
    """Another writer holds the node; ``found`` says who and since when."""


class AddressError(MetalwrightError):
    """No address can be given, or a recorded one cannot be kept."""


class BiosError(MetalwrightError):
    """BIOS attributes that the registry of this BIOS version would refuse; ``problems`` has one line for each."""

    def __init__(
        self,
        what: str,
        *,
        where: str = "",
        problems: Sequence[str] = (),
        expected: str | None = None,
        found: str | None = None,
        hint: str | None = None,
    ) -> None:
        lines = "".join(f"\n  {problem}" for problem in problems)
        super().__init__(what + lines, where=where, expected=expected, found=found, hint=hint)
        self.problems = tuple(problems)


class PlanError(MetalwrightError):
    """A plan that cannot be made, or that no longer holds."""


class IdentityError(MetalwrightError):
    """The machine that answers is not the one that the inventory declares."""


class GrantError(MetalwrightError):
    """A destructive act without a valid grant."""


class ImageError(MetalwrightError):
    """An image or a boot medium that cannot be used."""


class RedfishError(MetalwrightError):
    """An exchange with a BMC failed; ``where`` is ``METHOD https://host:port/path``."""

    def __init__(
        self,
        what: str,
        *,
        where: str = "",
        status: int | None = None,
        message_ids: tuple[str, ...] = (),
        expected: str | None = None,
        found: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(what, where=where, expected=expected, found=found, hint=hint)
        self.status = status
        self.message_ids = message_ids

    @property
    def brief(self) -> str:
        """What happened and the BMC's own words, in one line."""
        return "; ".join(" ".join(part.split()) for part in (self.what, self.found) if part)


class BmcUnreachableError(RedfishError):
    """No connection or no answer within the time budget."""


class BmcTlsError(BmcUnreachableError):
    """The BMC and this host have no TLS version or cipher in common; nothing was sent."""


class BmcNoAnswerError(BmcUnreachableError):
    """A write was sent, but no answer came: read the resource to learn whether it took effect."""


class BmcCertificateError(RedfishError):
    """The BMC's TLS key is not the pinned one; no credential was sent."""


class BmcAuthError(RedfishError):
    """The login was refused, or is latched after an earlier refusal."""


class BmcAnswerError(RedfishError):
    """An answer that is not what Redfish promises (HTML, wrong type, endless pages)."""


class BmcRefusedError(RedfishError):
    """A well-formed refusal with the BMC's own messages."""


class SshError(MetalwrightError):
    """An SSH exchange failed; ``where`` is ``node user@host:port``. Never the result of a command."""


class SshUnreachableError(SshError):
    """No connection within the time budget, or an open one broke."""


class SshHostKeyError(SshError):
    """The machine's SSH host key is not the pinned one; nothing was sent."""


class SshAuthError(SshError):
    """The login was refused, or sudo asked for a password."""


class SshTimeoutError(SshError):
    """A command did not end within its time limit."""


class DeployError(MetalwrightError):
    """A pyinfra run failed, or did not happen although it exited 0."""


class ReadBackError(MetalwrightError):
    """A write was accepted, but a later read does not show it."""


class AcceptanceError(MetalwrightError):
    """An acceptance check failed or could not run."""


class LabError(MetalwrightError):
    """The virtual lab cannot do what was asked."""
