"""Commands over one SSH connection: a lost connection is never the result of a command."""

from __future__ import annotations

import contextlib
import math
import secrets
import select
import shlex
import time
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from paramiko import Channel, SSHException, Transport

from metalwright.errors import SshAuthError, SshTimeoutError, SshUnreachableError
from metalwright.ssh.target import Target

READ_BYTES = 65536


@dataclass(frozen=True)
class Completed:
    """A command that ran on the node and ended there: exit status, both outputs as text."""

    argv: tuple[str, ...]
    rc: int
    stdout: str
    stderr: str


class Session:
    """A logged-in connection; use it in a ``with`` statement, or call :meth:`close`."""

    def __init__(self, target: Target, transport: Transport) -> None:
        self.target = target
        self._transport = transport

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; what still runs on the node is killed by its own time limit."""
        self._transport.close()

    def run(
        self, argv: Sequence[str], *, timeout_s: float = 30.0, sudo: bool = False, stdin: str | None = None
    ) -> Completed:
        """Run ``argv`` (no shell reads it), with ``LC_ALL=C``, through ``sudo -n`` when asked.

        What a login shell prints before the command starts is left out of both outputs. Raises
        :class:`SshTimeoutError` after ``timeout_s``, :class:`SshAuthError` when sudo or the login shell refuses, and
        :class:`SshUnreachableError` when the connection breaks before the exit status came.
        """
        mark = secrets.token_hex(16)
        deadline = time.monotonic() + timeout_s
        try:
            with self._transport.open_session(timeout=timeout_s) as channel:
                channel.exec_command(_wrap(argv, mark, timeout_s, sudo))
                _feed(channel, stdin)
                stdout, stderr = self._read(channel, argv, deadline)
                rc = channel.recv_exit_status() if channel.exit_status_ready() else -1
        except (SSHException, OSError, EOFError) as error:
            raise self._broken(argv, str(error) or type(error).__name__) from error
        return self._completed(argv, mark, rc, stdout, stderr)

    def _read(self, channel: Channel, argv: Sequence[str], deadline: float) -> tuple[bytes, bytes]:
        """Everything the command prints, until it has ended and both streams are at their end."""
        out, err = bytearray(), bytearray()
        while True:
            has_ended = channel.closed or not self._transport.is_active() or _is_complete(channel)
            while channel.recv_ready():
                out += channel.recv(READ_BYTES)
            while channel.recv_stderr_ready():
                err += channel.recv_stderr(READ_BYTES)
            if has_ended:  # as it was before the reading: nothing can have come since
                return bytes(out), bytes(err)
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                raise self._hung(argv)
            _wait(channel, min(left_s, 1.0))

    def _completed(self, argv: Sequence[str], mark: str, rc: int, stdout: bytes, stderr: bytes) -> Completed:
        out, err = stdout.decode(errors="replace"), stderr.decode(errors="replace")
        if mark not in out:
            if rc < 0:
                raise self._broken(argv, "the connection ended before the command began")
            raise SshAuthError(
                "the login shell or sudo did not start the command",
                where=str(self.target),
                expected=shlex.join(argv),
                found=(err or out).strip()[-400:] or f"exit status {rc}",
                hint="the user needs a working shell, and sudo without a password (`sudo -n true`)",
            )
        if rc < 0:
            raise self._broken(argv, "no exit status came: the connection broke, or the command was killed")
        return Completed(tuple(argv), rc, out.partition(mark + "\n")[2], err.rpartition(mark + "\n")[2])

    def _broken(self, argv: Sequence[str], found: str) -> SshUnreachableError:
        return SshUnreachableError(
            "the SSH connection broke during a command",
            where=str(self.target),
            expected=f"an exit status of: {shlex.join(argv)}",
            found=found,
            hint="whether the command ran is unknown: look again before you act on it",
        )

    def _hung(self, argv: Sequence[str]) -> SshTimeoutError:
        return SshTimeoutError(
            "a command did not end in time",
            where=str(self.target),
            expected=f"an exit status of: {shlex.join(argv)}",
            found="still running; it is killed on the node a moment later",
        )


def _wrap(argv: Sequence[str], mark: str, timeout_s: float, sudo: bool) -> str:
    """The line for the login shell: both streams are marked where the command begins; it is killed when it hangs."""
    script = f'echo {mark}; echo {mark} >&2; exec timeout -s KILL {math.ceil(timeout_s) + 1} env LC_ALL=C "$@"'
    words = ["sh", "-c", script, "sh", *argv]
    return shlex.join(["sudo", "-n", "--", *words] if sudo else words)


def _feed(channel: Channel, stdin: str | None) -> None:
    """Give the command its input; one that has ended meanwhile wants none."""
    with contextlib.suppress(OSError):
        if stdin is not None:
            channel.sendall(stdin.encode())
        channel.shutdown_write()


def _is_complete(channel: Channel) -> bool:
    """Whether the exit status and the end of both streams are there."""
    return channel.exit_status_ready() and bool(channel.eof_received)


def _wait(channel: Channel, timeout_s: float) -> None:
    """Sleep until the channel has something to say; its exit status does not wake us, so never for long."""
    select.select([channel], [], [], timeout_s if not channel.eof_received else min(timeout_s, 0.05))
