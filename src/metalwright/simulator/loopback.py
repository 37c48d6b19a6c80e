"""The loopback interface, which is down in a fresh network namespace."""

from __future__ import annotations

import fcntl
import socket
import struct
import sys

from metalwright.errors import LabError

_GET_FLAGS = 0x8913
_SET_FLAGS = 0x8914
_IS_UP = 0x1
_NAME = b"lo"


def ensure_loopback_up() -> None:
    """Bring ``lo`` up when it is down; raises :class:`LabError` when that is not allowed."""
    if sys.platform != "linux":
        return
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        request = struct.pack("16sh14x", _NAME, 0)
        flags = struct.unpack("16sh14x", fcntl.ioctl(control, _GET_FLAGS, request))[1]
        if flags & _IS_UP:
            return
        try:
            fcntl.ioctl(control, _SET_FLAGS, struct.pack("16sh14x", _NAME, flags | _IS_UP))
        except PermissionError as error:
            raise LabError(
                "the loopback interface is down", where="lo", hint="bring it up: ip link set lo up"
            ) from error
