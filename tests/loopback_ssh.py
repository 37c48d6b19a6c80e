"""A small SSH server on loopback that runs what it is asked in a local shell, with faults to switch on."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import paramiko
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from paramiko.common import AUTH_FAILED, AUTH_SUCCESSFUL, OPEN_SUCCEEDED

from metalwright.ssh import Target

ADDRESS = "127.84.0.1"


def make_key(path: Path) -> paramiko.PKey:
    private = Ed25519PrivateKey.generate().private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption()
    )
    path.write_bytes(private)
    path.chmod(0o600)
    return paramiko.PKey.from_path(path)


@dataclass
class Faults:
    """What the server does wrong."""

    noise: str = ""
    drop_before_exec: bool = False
    drop_before_exit_status: bool = False
    refuse_shell: bool = False


@dataclass
class LoopbackServer(paramiko.ServerInterface):
    """One server; ``commands`` are the lines that clients asked to run."""

    host_key: paramiko.PKey
    client_key: paramiko.PKey
    client_key_path: Path
    faults: Faults = field(default_factory=Faults)
    commands: list[str] = field(default_factory=list)
    logins: list[str] = field(default_factory=list)
    port: int = 0

    @property
    def target(self) -> Target:
        return Target("n1", ADDRESS, self.port, "admin")

    @property
    def public_host_key(self) -> str:
        return f"{self.host_key.get_name()} {self.host_key.get_base64()}"

    def check_auth_publickey(self, username: str, key: paramiko.PKey) -> int:
        self.logins.append(username)
        return AUTH_SUCCESSFUL if key == self.client_key else AUTH_FAILED

    def get_allowed_auths(self, username: str) -> str:
        return "publickey"

    def check_channel_request(self, kind: str, chanid: int) -> int:
        return OPEN_SUCCEEDED

    def check_channel_exec_request(self, channel: paramiko.Channel, command: bytes) -> bool:
        self.commands.append(command.decode())
        threading.Thread(target=self._run, args=(channel, command.decode()), daemon=True).start()
        return True

    def _run(self, channel: paramiko.Channel, command: str) -> None:
        transport = channel.get_transport()
        if self.faults.drop_before_exec:
            transport.close()
            return
        if self.faults.refuse_shell:
            channel.recv(1)  # the client's end of input: by then it knows that the request was accepted
            channel.sendall(b"This account is currently not available.\n")
            channel.send_exit_status(1)
            channel.close()
            return
        channel.sendall(self.faults.noise.encode())
        received = b""
        while part := channel.recv(4096):
            received += part
        done = subprocess.run(["sh", "-c", command], capture_output=True, check=False, input=received)
        with contextlib.suppress(OSError):  # the client may have gone
            self._answer(channel, done)

    def _answer(self, channel: paramiko.Channel, done: subprocess.CompletedProcess[bytes]) -> None:
        channel.sendall(done.stdout)
        channel.sendall_stderr(done.stderr)
        if self.faults.drop_before_exit_status:
            channel.get_transport().close()
            return
        channel.send_exit_status(done.returncode)
        channel.close()


@pytest.fixture
def ssh_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LoopbackServer]:
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    with serving(tmp_path) as server:
        yield server


@contextlib.contextmanager
def serving(directory: Path) -> Iterator[LoopbackServer]:
    """A server whose keys lie in ``directory``."""
    client_key = make_key(directory / "client")
    server = LoopbackServer(make_key(directory / "host"), client_key, directory / "client")
    with socket.create_server((ADDRESS, 0)) as listener:
        server.port = listener.getsockname()[1]
        transports: list[paramiko.Transport] = []
        threading.Thread(target=_accept, args=(listener, server, transports), daemon=True).start()
        yield server
        for transport in transports:
            transport.close()


def _accept(listener: socket.socket, server: LoopbackServer, transports: list[paramiko.Transport]) -> None:
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        transport = paramiko.Transport(connection)
        transports.append(transport)
        transport.add_server_key(server.host_key)
        try:
            transport.start_server(server=server)
        except (paramiko.SSHException, EOFError, OSError):
            transport.close()
