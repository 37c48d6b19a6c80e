"""Stands for the written system: an SSH server with the host key and the stamp that the ramdisk put on the disk.

``python tiny_os.py MACHINE_JSON ADDRESS PORT``. Commands run in a local shell in which ``cat`` reads the disk's own
files, and ``systemctl`` says that the system is up; nothing else of an operating system is there. Ends when it is
killed.
"""

from __future__ import annotations

import io
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import uuid
from pathlib import Path

import paramiko
from paramiko.common import AUTH_SUCCESSFUL, OPEN_SUCCEEDED

from metalwright.imaging.agent.grow import find_root
from metalwright.imaging.agent.root_file_system import HOST_KEY_PATH
from metalwright.imaging.agent.seed import STAMP_PATH
from metalwright.imaging.agent.stamp import decode_stamp, read_stamp_area

CAT = """#!/bin/sh
for file in "$@"; do
  case "$file" in
    {stamp}) /bin/cat {directory}/stamp.json;;
    /proc/sys/kernel/random/boot_id) echo {boot_id};;
    *) /bin/cat "$file";;
  esac
done
"""


class Server(paramiko.ServerInterface):
    def check_auth_publickey(self, username: str, key: paramiko.PKey) -> int:
        return AUTH_SUCCESSFUL

    def get_allowed_auths(self, username: str) -> str:
        return "publickey"

    def check_channel_request(self, kind: str, chanid: int) -> int:
        return OPEN_SUCCEEDED

    def check_channel_exec_request(self, channel: paramiko.Channel, command: bytes) -> bool:
        threading.Thread(target=run, args=(channel, command.decode()), daemon=True).start()
        return True


ENVIRONMENT = dict(os.environ)


def run(channel: paramiko.Channel, command: str) -> None:
    done = subprocess.run(["sh", "-c", command], env=ENVIRONMENT, capture_output=True, check=False)
    channel.sendall(done.stdout)
    channel.sendall_stderr(done.stderr)
    channel.send_exit_status(done.returncode)
    channel.close()


def main() -> None:
    machine = json.loads(Path(sys.argv[1]).read_text())
    disks = [disk["path"] for disk in machine["disks"]]
    disk = next(path for path in disks if decode_stamp(read_stamp_area(path)) is not None)
    root = find_root(disk).target
    key = paramiko.Ed25519Key.from_private_key(io.StringIO(debugfs(root, HOST_KEY_PATH)))
    with tempfile.TemporaryDirectory() as directory:
        Path(directory, "stamp.json").write_text(debugfs(root, STAMP_PATH))
        cat = Path(directory, "cat")
        cat.write_text(CAT.format(stamp=STAMP_PATH, directory=directory, boot_id=uuid.uuid4()))
        cat.chmod(0o755)
        systemctl = Path(directory, "systemctl")  # this machine's own start is none of the node's business
        systemctl.write_text("#!/bin/sh\necho running\n")
        systemctl.chmod(0o755)
        ENVIRONMENT["PATH"] = f"{directory}:{os.environ['PATH']}"
        serve(key, sys.argv[2], int(sys.argv[3]))


def serve(key: paramiko.PKey, address: str, port: int) -> None:
    with socket.create_server((address, port)) as listener:
        while True:
            connection, _ = listener.accept()
            transport = paramiko.Transport(connection)
            transport.add_server_key(key)
            try:
                transport.start_server(server=Server())
            except (paramiko.SSHException, EOFError, OSError):
                transport.close()


def debugfs(target: str, path: str) -> str:
    return subprocess.run(["debugfs", "-R", f'cat "{path}"', target], capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    main()
