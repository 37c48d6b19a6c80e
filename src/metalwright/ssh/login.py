"""Reaching a node and logging in: the host key is compared before anything is sent."""

from __future__ import annotations

import logging
import socket
from pathlib import Path

from paramiko import Agent, AuthenticationException, PKey, SSHException, Transport
from paramiko.ssh_exception import IncompatiblePeer

from metalwright.errors import SshAuthError, SshHostKeyError, SshUnreachableError
from metalwright.ssh.session import Session
from metalwright.ssh.target import Target, parse_host_key

KEEPALIVE_S = 10
WIRE_LOG = "metalwright.ssh.wire"
"""paramiko logs here, with tracebacks for what is told by our own errors: silent unless somebody sets its level."""
logging.getLogger(WIRE_LOG).setLevel(logging.CRITICAL)
_RSA_SIGNATURES = ("rsa-sha2-512", "rsa-sha2-256")


def connect(target: Target, *, host_key: str, key: Path | None = None, timeout_s: float = 10.0) -> Session:
    """Log in as ``target.user`` with the private key file ``key`` and the keys of a running agent, in this order.

    ``host_key`` (``TYPE BASE64``) is the only one accepted. Raises :class:`SshUnreachableError`,
    :class:`SshHostKeyError` or :class:`SshAuthError`.
    """
    pinned = parse_host_key(host_key)
    transport = _open_transport(target, pinned, timeout_s)
    try:
        _check_host_key(target, transport, pinned)
        _log_in(target, transport, key)
    except BaseException:
        transport.close()
        raise
    transport.set_keepalive(KEEPALIVE_S)
    return Session(target, transport)


def _open_transport(target: Target, pinned: PKey, timeout_s: float) -> Transport:
    try:
        connection = socket.create_connection((target.hostname, target.port), timeout=timeout_s)
    except OSError as error:
        raise _unreachable(target, str(error) or type(error).__name__) from error
    transport = Transport(connection)
    transport.set_log_channel(WIRE_LOG)
    transport.banner_timeout = timeout_s
    transport.get_security_options().key_types = _algorithms(pinned)
    try:
        transport.start_client(timeout=timeout_s)
    except IncompatiblePeer as error:
        transport.close()
        raise _other_key(target, pinned, f"no {pinned.get_name()} key ({error})") from error
    except (SSHException, OSError, EOFError) as error:
        transport.close()
        raise _unreachable(target, str(error) or type(error).__name__) from error
    return transport


def _algorithms(pinned: PKey) -> tuple[str, ...]:
    """Ask the server for the pinned kind of key and no other."""
    return _RSA_SIGNATURES if pinned.get_name() == "ssh-rsa" else (pinned.get_name(),)


def _check_host_key(target: Target, transport: Transport, pinned: PKey) -> None:
    try:
        found = transport.get_remote_server_key()
    except SSHException as error:  # paramiko's start returns silently when its time is over
        raise _unreachable(target, "the SSH handshake did not end in time") from error
    if found.get_name() != pinned.get_name() or found.asbytes() != pinned.asbytes():
        raise _other_key(target, pinned, f"{found.get_name()} {found.fingerprint}")


def _log_in(target: Target, transport: Transport, key: Path | None) -> None:
    refused: list[str] = []
    for name, candidate in _candidates(target, key):
        try:
            if not transport.auth_publickey(target.user, candidate):
                return
            refused.append(f"{name} accepted, but a second factor is wanted")
        except AuthenticationException as error:
            refused.append(f"{name}: {error}")
        except (SSHException, OSError, EOFError) as error:
            raise _unreachable(target, str(error) or type(error).__name__) from error
    raise SshAuthError(
        "the SSH login was refused",
        where=str(target),
        expected=f"a key that {target.user} may log in with",
        found="; ".join(refused) or "no key to offer: no key file, and no key in an SSH agent",
        hint="name the private key in the site's `ssh`, or add it to the SSH agent",
    )


def _candidates(target: Target, key: Path | None) -> list[tuple[str, PKey]]:
    found: list[tuple[str, PKey]] = []
    if key is not None:
        found.append((str(key), _load_key(target, key)))
    return found + [(f"agent key {agent_key.fingerprint}", agent_key) for agent_key in Agent().get_keys()]


def _load_key(target: Target, path: Path) -> PKey:
    try:
        return PKey.from_path(path)
    except (OSError, ValueError, TypeError, SSHException) as error:
        raise SshAuthError(
            "the private SSH key cannot be used",
            where=str(target),
            expected=f"an unencrypted private key in {path}",
            found=f"{type(error).__name__}: {error}",
            hint="a key with a passphrase belongs into an SSH agent",
        ) from error


def _unreachable(target: Target, found: str) -> SshUnreachableError:
    return SshUnreachableError(
        "the node does not answer over SSH",
        where=str(target),
        expected="an SSH server",
        found=found,
        hint=f"`metalwright console {target.node}` shows what it is doing",
    )


def _other_key(target: Target, pinned: PKey, found: str) -> SshHostKeyError:
    return SshHostKeyError(
        "the SSH host key is not the one that the deployment reported",
        where=str(target),
        expected=f"{pinned.get_name()} {pinned.fingerprint}",
        found=found,
        hint="something else answers at this address, or the node was installed by other means: nothing was sent. "
        f"Look at `metalwright console {target.node}`; `metalwright rebuild {target.node}` gives it a new key",
    )
