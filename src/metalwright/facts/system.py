"""Which system this is, and who may use it."""

from __future__ import annotations

import json
from typing import Any, TypedDict

from pyinfra.api import FactBase
from pyinfra.api.exceptions import FactProcessError

from metalwright.acceptance.readings import addresses_of
from metalwright.model.image import STAMP_PATH
from metalwright.node_files import KEYS_DIRECTORY


class DeployedSystem(TypedDict):
    """``uid`` that commands run with; ``stamp`` of the deployment, ``None`` when the system carries none."""

    uid: int
    stamp: dict[str, Any] | None


class System(FactBase[DeployedSystem]):
    """Who we are there, and what was deployed. A refused sudo is no answer and fails the host."""

    def command(self) -> str:
        """Two marked lines."""
        return f"printf 'uid:%s\\nstamp:%s\\n' \"$(id -u)\" \"$(cat {STAMP_PATH} 2>/dev/null | tr -d '\\n')\""

    def process(self, output: list[str]) -> DeployedSystem:
        """The user id, and JSON or nothing at all."""
        text = _marked(output, "stamp:")
        try:
            stamp = json.loads(text) if text else None
        except ValueError as error:
            raise FactProcessError(f"{STAMP_PATH} is no JSON: {error}") from error
        if stamp is not None and not isinstance(stamp, dict):
            raise FactProcessError(f"{STAMP_PATH} is no JSON object")
        return {"uid": int(_marked(output, "uid:")), "stamp": stamp}


class BootId(FactBase[str]):
    """The kernel's id of this boot."""

    def command(self) -> str:
        """One marked line."""
        return "sed 's/^/boot:/' /proc/sys/kernel/random/boot_id"

    def process(self, output: list[str]) -> str:
        """The UUID as the kernel prints it."""
        return _marked(output, "boot:")


class Addresses(FactBase[dict[str, tuple[str, ...]]]):
    """Interface → its global addresses with prefix length."""

    def command(self) -> str:
        """JSON on one line, marked."""
        return "printf 'addresses:%s\\n' \"$(ip -json address show)\""

    def process(self, output: list[str]) -> dict[str, tuple[str, ...]]:
        """See :func:`metalwright.acceptance.readings.addresses_of`."""
        return addresses_of(_marked(output, "addresses:"))


class Logins(TypedDict):
    """``accounts``: name → user id; ``keys``: names that have a file in ``/etc/ssh/authorized_keys.d``."""

    accounts: dict[str, int]
    keys: tuple[str, ...]


class LoginNames(FactBase[Logins]):
    """Who exists, and who has keys."""

    def command(self) -> str:
        """Marked lines of both lists."""
        return f"sed 's/^/account:/' /etc/passwd; ls -1 {KEYS_DIRECTORY} 2>/dev/null | sed 's/^/keys:/'"

    def process(self, output: list[str]) -> Logins:
        """There is always one account."""
        rows = [line.split(":") for line in _all_marked(output, "account:")]
        if not rows:
            raise FactProcessError("/etc/passwd gave no answer")
        return {
            "accounts": {row[0]: int(row[2]) for row in rows if len(row) == 7},
            "keys": _all_marked(output, "keys:"),
        }


def _all_marked(output: list[str], mark: str) -> tuple[str, ...]:
    return tuple(line.removeprefix(mark) for line in output if line.startswith(mark))


def _marked(output: list[str], mark: str) -> str:
    """The rest of the one line that begins with ``mark``; what a login shell prints around it does not count."""
    found = _all_marked(output, mark)
    if len(found) != 1:
        raise FactProcessError(f"expected one line {mark}…, found {output[-3:]}")
    return found[0].strip()
