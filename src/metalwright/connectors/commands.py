"""The language of ``@redfish``: Redfish requests written as shell commands, and a few verbs around them.

::

    GET EXPRESSION...                read; several give a list; a trailing ``?`` makes one optional (null)
    PATCH TARGET JSON [--unproven | PROOF]
                                     change properties
    POST TARGET JSON [--unproven | PROOF] [--or-patch SLOT]
                                     call an action or make a member; where the collection takes none (405), the same
                                     body as a PATCH of the member SLOT
    DELETE TARGET                    remove a member
    EXPECT TARGET JSON [--unlike JSON] [--within S] [--hint TEXT]
                                     read back: fails until the resource shows these values, after S seconds for good
    ABSENT TARGET [--within S]       read back: fails until the member is gone, after S seconds for good
    LOGIN staged-password [--restore TARGET]
                                     prove that the staged password opens the BMC: one login, one logout; where it does
                                     not, give the account TARGET back the password that works now, and fail
    REFUSED USER [--again]           prove that no factory password opens the account USER: each is tried once
    SECRET state|promote|share       what is known of the login; put the staged password in force; keep that the
                                     account is not metalwright's own
    SECRET stage [--user NAME] [--shared]
                                     make a new password durable before the BMC hears of it
    CLOCK set [--within S]           wait for the BMC's clock to agree with ours; else set it by hand
    FIRMWARE state                   the updates under way and what their tasks say now
    FIRMWARE push --component C --version V [--targets URI,…]
                                     send an image of the site's catalogue, its digest compared just before
    FIRMWARE reset|proven|failed --component C
                                     keep what becomes of an update
    CERTIFICATE state                the certificate that is shown, the one that is wanted, and what is wrong
    CERTIFICATE renew [--within S]   sign the BMC's key, announce the certificate, install it; pin it once it is shown
    MEDIUM order [--by METHOD]       make the boot medium of this node for virtual-media (default), uefi-http or pxe;
                                     its URL is then {secret:media-url}
    REFUSE TEXT                      fail this host with a reason (an operation must not raise)

TARGET and EXPRESSION are URIs or link expressions such as ``@system/Bios`` (:mod:`metalwright.redfish.links`). In a
JSON body the text ``{secret:NAME}`` stands for a secret that only the connector knows. With ``--unproven`` a PATCH or
POST whose answer is lost does not fail: a read-back must follow, here or from another process. With ``--optional`` a
PATCH or EXPECT that the BMC refuses or ignores is said and does not fail.

PROOF makes write and read-back one command::

    --shows JSON [--unlike JSON] [--proof TARGET] [--within S] [--tries N] [--optional] [--hint TEXT]

TARGET (by default what was written) must show the values of ``--shows`` and none of ``--unlike`` (a list there means
any of its values). Then a refusal or a lost answer is no failure; where the write was accepted and nothing shows it
after S seconds it is sent again, N times in all, and then fails, or with ``--optional`` is only told.
"""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass, field
from typing import Any

from metalwright.errors import UsageError

WRITES = frozenset({"PATCH", "POST", "DELETE", "SECRET", "MEDIUM", "CLOCK", "FIRMWARE", "CERTIFICATE"})
WITH_BODY = frozenset({"PATCH", "POST", "EXPECT"})
ARGUMENTS = {"DELETE": 1, "PATCH": 2, "POST": 2, "EXPECT": 2, "LOGIN": 1, "REFUSED": 1}
ARGUMENTS |= {"SECRET": 1, "MEDIUM": 1, "CLOCK": 1, "ABSENT": 1, "FIRMWARE": 1, "CERTIFICATE": 1, "REFUSE": 1}
_PROOF = ("shows", "unlike", "proof", "within", "tries", "hint")
OPTIONS = {
    "EXPECT": ("unlike", "within", "hint"),
    "ABSENT": ("within",),
    "PATCH": _PROOF,
    "POST": ("or-patch", *_PROOF),
    "LOGIN": ("restore",),
    "SECRET": ("user",),
    "CLOCK": ("within",),
    "CERTIFICATE": ("within",),
    "FIRMWARE": ("component", "version", "targets"),
    "MEDIUM": ("by",),
}
FLAGS = {
    "PATCH": ("unproven", "optional"),
    "POST": ("unproven", "optional"),
    "EXPECT": ("optional",),
    "REFUSED": ("again",),
    "SECRET": ("shared",),
}


@dataclass(frozen=True, slots=True)
class Proof:
    """What must be seen after a write: ``shows`` and nothing of ``unlike`` at ``target``, within ``within_s`` seconds.

    ``tries`` is how often the write is sent at most; ``is_required`` tells whether failing to see it is a failure.
    """

    target: str
    shows: dict[str, Any]
    unlike: dict[str, Any] = field(default_factory=dict)
    within_s: float = 0.0
    tries: int = 1
    is_required: bool = True
    hint: str | None = None


@dataclass(frozen=True, slots=True)
class Command:
    """One parsed command. ``body`` still has its ``{secret:…}`` references."""

    verb: str
    arguments: tuple[str, ...]
    body: dict[str, Any] | None = None
    options: dict[str, str] = field(default_factory=dict)

    @property
    def target(self) -> str:
        """The first argument."""
        return self.arguments[0]

    proof: Proof | None = None

    @property
    def is_write(self) -> bool:
        """Whether it can change the BMC, or the secret that belongs to it."""
        return self.verb in WRITES and self.arguments != ("state",)


def parse(text: str) -> Command:
    """Return the parsed command. Raises UsageError; the error never quotes a body, which may hold a secret."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UsageError("the command cannot be split into words", where="@redfish", found=str(error)) from None
    verb = words[0].upper() if words else ""
    if verb != "GET" and verb not in ARGUMENTS:
        raise UsageError(
            "this is not a command of @redfish",
            where="@redfish",
            expected=", ".join(["GET", *ARGUMENTS]),
            found=verb or "nothing",
            hint="@redfish speaks to BMCs; operations for operating systems need inventory/nodes.py",
        )
    words, options = _split_options(verb, words[1:])
    wanted = ARGUMENTS.get(verb)
    if (wanted is not None and len(words) != wanted) or not words:
        raise UsageError(
            f"{verb} takes {'one or more expressions' if wanted is None else f'{wanted} argument(s)'}",
            where="@redfish",
            found=f"{len(words)} argument(s)",
            hint="quote JSON for the shell",
        )
    body = _body(verb, words[1]) if verb in WITH_BODY else None
    arguments = tuple(words[:1] if body is not None else words)
    return Command(verb, arguments, body, options, _proof(verb, arguments[0], body, options))


def _proof(verb: str, target: str, body: dict[str, Any] | None, options: dict[str, str]) -> Proof | None:
    """Return what is to be seen; None where the command asks for no read-back."""
    if verb != "EXPECT" and "shows" not in options:
        return None
    return Proof(
        target=options.get("proof", target),
        shows=body or {} if verb == "EXPECT" else _body(f"{verb} --shows", options["shows"]),
        unlike=_body(f"{verb} --unlike", options["unlike"]) if "unlike" in options else {},
        within_s=_number(verb, "within", options),
        tries=max(1, int(_number(verb, "tries", options))),
        is_required="optional" not in options,
        hint=options.get("hint"),
    )


def _number(verb: str, name: str, options: dict[str, str]) -> float:
    text = options.get(name) or "0"
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"--{name} of {verb} is not a number", where="@redfish", found=text) from None


def _split_options(verb: str, words: list[str]) -> tuple[list[str], dict[str, str]]:
    """Take ``--name value`` and flags out; only those of this verb are known."""
    plain: list[str] = []
    options: dict[str, str] = {}
    rest = iter(words)
    for word in rest:
        name = word.removeprefix("--")
        if word.startswith("--") and name in OPTIONS.get(verb, ()):
            options[name] = next(rest, "")
        elif word.startswith("--") and name in FLAGS.get(verb, ()):
            options[name] = "yes"
        else:
            plain.append(word)
    return plain, options


def _body(verb: str, text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise UsageError(f"the body of {verb} is not JSON", where="@redfish", found=str(error)) from None
    if not isinstance(value, dict):
        raise UsageError(f"the body of {verb} is not a JSON object", where="@redfish", found=type(value).__name__)
    return value


def is_destructive(command: Command) -> bool:
    """Whether the command can lead to the loss of what is on a machine's disks.

    Inserting a medium is: whatever boots from it owns the machine.
    """
    target = command.target.rstrip("/")
    if command.verb == "MEDIUM":
        return True
    if command.verb == "POST":
        return target.endswith(("VirtualMedia.InsertMedia", ".SecureErase", ".ResetToDefaults"))
    if command.verb == "DELETE":
        return "/Volumes/" in target
    body = command.body or {}
    boot = body.get("Boot")
    is_network_boot = isinstance(boot, dict) and (
        bool(boot.get("HttpBootUri")) or boot.get("BootSourceOverrideTarget") in ("UefiHttp", "Pxe")
    )
    return command.verb == "PATCH" and (("/VirtualMedia/" in target and bool(body.get("Image"))) or is_network_boot)
