"""The loopback SSH server for these tests."""

from tests.loopback_ssh import ssh_server

__all__ = ["ssh_server"]
