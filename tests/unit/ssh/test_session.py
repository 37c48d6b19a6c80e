"""Commands over SSH: results come only from commands that ran; everything else is a typed error."""

from __future__ import annotations

import socket
from pathlib import Path

import paramiko
import pytest
from tests.loopback_ssh import LoopbackServer

from metalwright.errors import SshAuthError, SshHostKeyError, SshTimeoutError, SshUnreachableError
from metalwright.ssh import Session, Target, connect


def open_session(server: LoopbackServer) -> Session:
    return connect(server.target, host_key=server.public_host_key, key=server.client_key_path, timeout_s=5)


def test_a_command_gives_its_exit_status_and_both_outputs(ssh_server: LoopbackServer) -> None:
    with open_session(ssh_server) as session:
        done = session.run(["sh", "-c", "echo out; echo err >&2; exit 3"])
    assert (done.rc, done.stdout, done.stderr) == (3, "out\n", "err\n")


def test_arguments_reach_the_command_unchanged(ssh_server: LoopbackServer) -> None:
    words = ["a b", "$HOME", "'quoted'", "*", "ä", ""]
    with open_session(ssh_server) as session:
        done = session.run(["printf", "%s\\n", *words])
    assert done.stdout.split("\n")[:-1] == words


def test_output_larger_than_the_channel_window_arrives_whole(ssh_server: LoopbackServer) -> None:
    with open_session(ssh_server) as session:
        done = session.run(["sh", "-c", "head -c 5000000 /dev/zero | tr '\\0' x; head -c 3000000 /dev/zero >&2"])
    assert (len(done.stdout), len(done.stderr)) == (5_000_000, 3_000_000)


def test_stdin_is_given_and_closed(ssh_server: LoopbackServer) -> None:
    with open_session(ssh_server) as session:
        assert session.run(["cat"], stdin="hello").stdout == "hello"
        assert session.run(["cat"]).stdout == ""


def test_noise_of_the_login_shell_is_no_output(ssh_server: LoopbackServer) -> None:
    ssh_server.faults.noise = "Welcome!\nbash: warning: setlocale: LC_ALL: cannot change locale\n"
    with open_session(ssh_server) as session:
        assert session.run(["echo", "8"]).stdout == "8\n"


def test_commands_run_in_the_c_locale(ssh_server: LoopbackServer) -> None:
    with open_session(ssh_server) as session:
        assert session.run(["sh", "-c", "echo $LC_ALL"]).stdout == "C\n"


@pytest.mark.parametrize("fault", ["drop_before_exec", "drop_before_exit_status"])
def test_a_broken_connection_is_no_result(ssh_server: LoopbackServer, fault: str) -> None:
    setattr(ssh_server.faults, fault, True)
    with open_session(ssh_server) as session, pytest.raises(SshUnreachableError) as caught:
        session.run(["true"])
    assert "n1 admin@127.84.0.1" in str(caught.value)


def test_a_killed_command_is_no_result(ssh_server: LoopbackServer) -> None:
    with open_session(ssh_server) as session:
        done = session.run(["sh", "-c", "kill -9 $$"])
    assert done.rc != 0


def test_a_refusing_login_shell_is_no_result(ssh_server: LoopbackServer) -> None:
    ssh_server.faults.refuse_shell = True
    with open_session(ssh_server) as session, pytest.raises(SshAuthError, match="login shell or sudo") as caught:
        session.run(["true"])
    assert caught.value.found == "This account is currently not available."


def test_a_refusing_sudo_is_no_result(
    ssh_server: LoopbackServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sudo = tmp_path / "bin" / "sudo"
    sudo.parent.mkdir()
    sudo.write_text("#!/bin/sh\necho 'sudo: a password is required' >&2\nexit 1\n")
    sudo.chmod(0o755)
    monkeypatch.setenv("PATH", f"{sudo.parent}:/usr/bin:/bin")
    with open_session(ssh_server) as session, pytest.raises(SshAuthError) as caught:
        session.run(["id"], sudo=True)
    assert caught.value.found == "sudo: a password is required"


def test_a_command_that_hangs_is_a_timeout(ssh_server: LoopbackServer) -> None:
    with open_session(ssh_server) as session, pytest.raises(SshTimeoutError, match="did not end in time"):
        session.run(["sleep", "60"], timeout_s=0.5)
    assert "exec timeout -s KILL 2 " in ssh_server.commands[0]


def test_another_host_key_is_refused_before_the_login(ssh_server: LoopbackServer, tmp_path: Path) -> None:
    other = paramiko.Ed25519Key.from_private_key_file(str(ssh_server.client_key_path))
    with pytest.raises(SshHostKeyError) as caught:
        connect(ssh_server.target, host_key=f"ssh-ed25519 {other.get_base64()}", key=ssh_server.client_key_path)
    assert ssh_server.logins == []
    assert caught.value.expected == f"ssh-ed25519 {other.fingerprint}"
    assert caught.value.found == f"ssh-ed25519 {ssh_server.host_key.fingerprint}"


def test_another_kind_of_host_key_is_refused(ssh_server: LoopbackServer) -> None:
    ecdsa = paramiko.ECDSAKey.generate()
    with pytest.raises(SshHostKeyError):
        connect(ssh_server.target, host_key=f"{ecdsa.get_name()} {ecdsa.get_base64()}", key=ssh_server.client_key_path)
    assert ssh_server.logins == []


def test_no_key_to_offer_says_so(ssh_server: LoopbackServer) -> None:
    with pytest.raises(SshAuthError) as caught:
        connect(ssh_server.target, host_key=ssh_server.public_host_key)
    assert "no key to offer" in str(caught.value)


def test_a_refused_key_is_named_and_never_shown(ssh_server: LoopbackServer, tmp_path: Path) -> None:
    with pytest.raises(SshAuthError) as caught:
        connect(ssh_server.target, host_key=ssh_server.public_host_key, key=tmp_path / "host")
    assert str(tmp_path / "host") in str(caught.value)
    assert "PRIVATE KEY" not in str(caught.value)


def test_an_unreadable_key_file_is_an_error_about_that_file(ssh_server: LoopbackServer, tmp_path: Path) -> None:
    (tmp_path / "broken").write_text("nothing")
    with pytest.raises(SshAuthError, match="cannot be used"):
        connect(ssh_server.target, host_key=ssh_server.public_host_key, key=tmp_path / "broken")


def test_nothing_listening_is_unreachable(ssh_server: LoopbackServer) -> None:
    target = Target("n2", "127.84.0.2", 1)
    with pytest.raises(SshUnreachableError, match="does not answer") as caught:
        connect(target, host_key=ssh_server.public_host_key, timeout_s=1)
    assert "metalwright console n2" in str(caught.value)


def test_a_port_that_accepts_and_says_nothing_is_unreachable(
    ssh_server: LoopbackServer, caplog: pytest.LogCaptureFixture
) -> None:
    """A forwarder in front of a machine that is still booting behaves so."""
    with socket.create_server(("127.84.0.4", 0)) as silent:
        target = Target("n2", "127.84.0.4", silent.getsockname()[1])
        with pytest.raises(SshUnreachableError, match="does not answer"):
            connect(target, host_key=ssh_server.public_host_key, timeout_s=0.5)
    assert caplog.text == ""


@pytest.mark.parametrize("text", ["", "ssh-ed25519", "ssh-ed25519 !!!", "nonsense AAAA", "ssh-ed25519 AAAA\nevil AAAA"])
def test_text_that_is_no_host_key_is_refused(ssh_server: LoopbackServer, text: str) -> None:
    with pytest.raises(SshHostKeyError, match="not a public SSH host key"):
        connect(ssh_server.target, host_key=text)
