"""From power-on to the first word of SSH: metalwright beside a shell script that does the same.

    python -m bench.boot_clock                at most two rounds of both and about 14 minutes, in QEMU;
                                              writes bench/results/boot_clock.json
    python -m bench.boot_clock --rounds 1     one round

Both start the same virtual machine with the same kernel and the same initramfs. The script fetches the image into
memory, hashes the file, decompresses it onto the disk, drops the caches, hashes what the disk gives back, and powers
off; then the machine is started from its disk. Its image was seeded beforehand, so that SSH answers. metalwright's
clock runs while its runner asks the BMC, ejects the medium, grows the root file system, seeds it and makes the host
key, which the script does not. The clock starts with the machine's process and stops when the banner of SSH arrives.
Never a test: the load of the machine stands beside the figures, and what counts is the ratio within one run.
"""

from __future__ import annotations

import argparse
import asyncio
import functools
import hashlib
import http.server
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from metalwright.demo.__main__ import _prepare
from metalwright.demo.shell import Shell
from metalwright.demo.site import SSH_PORT, DemoSite, Machine
from metalwright.imaging.agent.grow import find_root
from metalwright.imaging.agent.root_file_system import ImageFileRoot
from metalwright.imaging.catalogue import ImageCatalogue
from metalwright.imaging.cpio import CpioFile, pack_cpio
from metalwright.imaging.deployments import MediaConfig
from metalwright.imaging.media import write_media
from metalwright.imaging.ordering import cache_dir, login_key
from metalwright.imaging.ramdisk import build_ramdisk
from metalwright.imaging.seed import render_seed
from metalwright.loading import SitePaths
from metalwright.model.image import Image
from metalwright.simulator.boot import CD, disk_device
from metalwright.simulator.hardware import Exit
from metalwright.simulator.lab import Lab
from metalwright.simulator.qemu.machine import QemuMachine
from metalwright.ssh.keys import public_half
from metalwright.workspace import open_workspace

RESULTS = Path(__file__).parent / "results"
NODE = Machine("lab-1", 1)
LOOPBACK, CONTROLLER = "127.105", "10.1.0.2"
GIVE_UP_S = 900.0
SCRIPT = """#!/bin/busybox sh
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
/bin/busybox --install -s /bin 2>/dev/null
mkdir -p /proc /sys /dev /run
mount -t proc proc /proc; mount -t sysfs sysfs /sys; mount -t devtmpfs devtmpfs /dev
mount -t tmpfs -o size=90% tmpfs /run
for round in 1 2; do cat /sys/bus/*/devices/*/modalias 2>/dev/null | sort -u | xargs modprobe -abq; done
while [ ! -e /sys/class/net/eth0 ] || [ ! -b /dev/nvme0n1 ]; do sleep 0.1; done
ip link set eth0 up; ip addr add {guest}/24 dev eth0
for disk in /sys/block/nvme*; do [ "$(tr -d ' ' <$disk/device/serial)" = {serial} ] && target=/dev/${{disk##*/}}; done
wget -q -O /run/image {url} || echo FAILED fetch
echo "{file_sha256}  /run/image" | sha256sum -c >/dev/null || echo FAILED file
zstd -q -d -f --sparse -o $target /run/image || echo FAILED write
sync; echo 3 >/proc/sys/vm/drop_caches
[ "$(head -c {content_bytes} $target | sha256sum | cut -d' ' -f1)" = {content_sha256} ] || echo FAILED read-back
echo SCRIPT DONE; sync; poweroff -f
"""


def main() -> None:
    """Measure, print each round and the ratio, and write them all to ``--result``."""
    options = _options()
    os.environ.setdefault("METALWRIGHT_CACHE", str(Path(".cache").resolve()))
    begun, load = time.monotonic(), os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="metalwright-clock-") as directory:
        demo = DemoSite(Path(directory) / "site", LOOPBACK, (NODE,))
        shell = Shell(demo.root, {})
        image = _prepare(demo, shell)
        script = _Script(demo, image, Path(directory) / "script")
        try:
            shell.run("lab", "up")
            shell.run("discover", demo.sweep_prefix)
            shell.run("provision", NODE.name, "--until", "harden", "--yes")
            rounds: list[dict[str, Any]] = []
            while len(rounds) < 2 * options.rounds and _is_time_left(begun, rounds, options.minutes):
                rounds += _round(len(rounds) // 2, demo, shell, script)
                _keep(options.result, load, rounds)
        finally:
            Lab(demo.lab_dir).down(wipe=True)


def _is_time_left(begun: float, rounds: list[dict[str, Any]], minutes: float) -> bool:
    """Whether another round fits, if it takes as long as the longest did; the first one always does."""
    used = [item["seconds"] + item.get("whole_command_s", 0) for item in rounds]
    longest = max((sum(used[n : n + 2]) for n in range(0, len(used), 2)), default=0.0)
    return not rounds or time.monotonic() - begun + longest < minutes * 60


def _round(number: int, demo: DemoSite, shell: Shell, script: _Script) -> list[dict[str, Any]]:
    """Both once, on the same machine with blank disks."""
    found = []
    for name, measure in (("script", script.measure), ("metalwright", lambda: _ours(demo, shell))):
        shell.run(
            "power", NODE.name, "off", "--force", "--grace", "1", "--yes", "--why", "the clock begins at power-on"
        )
        found.append({"round": number, "who": name, "load": round(os.getloadavg()[0], 1), **measure()})
        print(json.dumps(found[-1]), flush=True)
    return found


def _keep(result: Path, load: float, rounds: list[dict[str, Any]]) -> None:
    """Write what is known so far, so that an interruption loses one round alone."""
    medians = {
        name: statistics.median(item["seconds"] for item in rounds if item["who"] == name)
        for name in ("script", "metalwright")
    }
    body = {
        "schema": 1,
        "machine": {"cpus": os.cpu_count(), "python": sys.version.split()[0], "load_before": round(load, 1)},
        "median_s": {name: round(value, 1) for name, value in medians.items()},
        "ratio": round(medians["metalwright"] / medians["script"], 3),
        "rounds": rounds,
    }
    print(json.dumps({key: body[key] for key in ("median_s", "ratio")}), flush=True)
    result.parent.mkdir(exist_ok=True)
    result.write_text(json.dumps(body, indent=2) + "\n")


class _Script:
    """The baseline: a medium whose init is a shell script, and a machine of its own with the node's addresses."""

    def __init__(self, demo: DemoSite, image: Image, directory: Path) -> None:
        directory.mkdir()
        self.demo = demo
        self.directory = directory
        self.spec = demo.lab_spec().machines[0]
        file = _seeded(demo, image, directory)
        raw = directory / "seeded.raw"
        self.values = {
            "guest": self.spec.nics[0].guest,
            "serial": NODE.system_disk,
            "file_sha256": _sha256(file),
            "content_bytes": raw.stat().st_size,
            "content_sha256": _sha256(raw),
        }
        raw.unlink()

    def measure(self) -> dict[str, Any]:
        """One run on a machine with blank disks."""
        return asyncio.run(self._measure())

    async def _measure(self) -> dict[str, Any]:
        with _served(self.directory) as port, tempfile.TemporaryDirectory(dir=self.directory) as place:
            medium = Path(place) / "script.iso"
            self._write_medium(medium, f"http://{CONTROLLER}:{port}/image.raw.zst")
            machine = QemuMachine(self.spec, Path(place))
            ended = _Ended()
            machine.listener = ended
            started = time.monotonic()
            await machine.start([CD], medium)
            await asyncio.wait_for(ended.event.wait(), GIVE_UP_S)
            console = machine.console_path.read_text(errors="replace")
            assert "SCRIPT DONE" in console, console[-2000:]
            assert "FAILED" not in console, console[-2000:]
            written = time.monotonic()
            await machine.start([disk_device(NODE.system_disk)], None)
            try:
                await asyncio.to_thread(_await_ssh, self.demo)
                done = time.monotonic()
            finally:
                await machine.cut_power()
        return {"seconds": round(done - started, 1), "written_s": round(written - started, 1)}

    def _write_medium(self, medium: Path, url: str) -> None:
        text = SCRIPT.format(url=url, **self.values)
        layer = pack_cpio([CpioFile("metalwright/init", 0o755, text.encode())])
        config = MediaConfig(node="script", control_url="", server_cert_pem="", token=None, nonce=None)
        write_media(build_ramdisk(cache_dir())._replace(agent_layer=layer), config, medium)


class _Ended:
    """Hears that the machine powered itself off."""

    def __init__(self) -> None:
        self.event = asyncio.Event()

    def boot_started(self, device: str) -> None:
        """Not waited for."""

    def nothing_to_boot(self, tried: Any) -> None:
        """Not waited for."""

    def machine_exited(self, why: Exit, detail: str) -> None:
        """The script is through."""
        del why, detail
        self.event.set()


def _ours(demo: DemoSite, shell: Shell) -> dict[str, Any]:
    """One run of the image phase on a blank disk; power-on as the lab's own log has it."""
    lab = Lab(demo.lab_dir)
    lab.blank_disk(NODE.name, NODE.system_disk)
    events = demo.lab_dir / "machines" / NODE.name / "events.jsonl"
    known = len(events.read_text().splitlines())
    watch: dict[str, float] = {}
    watcher = threading.Thread(target=_watch, args=(demo, events, known, watch), daemon=True)
    watcher.start()
    begun = time.monotonic()
    shell.run("rebuild", NODE.name, "--until", "image", "--yes")
    ended = time.monotonic()
    watcher.join(GIVE_UP_S)
    return {
        "seconds": round(watch["ssh"] - watch["on"], 1),
        "written_s": round(watch["off"] - watch["on"], 1),
        "whole_command_s": round(ended - begun, 1),
    }


def _watch(demo: DemoSite, events: Path, known: int, watch: dict[str, float]) -> None:
    """Note when the medium was started, when the ramdisk powered off, and when SSH answered."""
    for name, kind in (("on", "PowerOn"), ("off", "PowerOff"), ("again", "PowerOn")):
        while True:
            lines = events.read_text().splitlines()[known:]
            at = next((n for n, line in enumerate(lines) if json.loads(line)["kind"] == kind), None)
            if at is not None:
                known += at + 1
                watch[name] = time.monotonic()
                break
            time.sleep(0.05)
    _await_ssh(demo)
    watch["ssh"] = time.monotonic()


def _await_ssh(demo: DemoSite) -> None:
    """Return when the banner of SSH arrives through the lab's forward, which accepts before anybody listens."""
    deadline = time.monotonic() + GIVE_UP_S
    while time.monotonic() < deadline:
        try:
            with socket.create_connection((demo.ssh_host(NODE), SSH_PORT), timeout=1) as connection:
                connection.settimeout(1)
                if connection.recv(4) == b"SSH-":
                    return
        except OSError:
            pass
        time.sleep(0.05)
    raise TimeoutError("SSH does not answer")


def _seeded(demo: DemoSite, image: Image, directory: Path) -> Path:
    """The image with the node's own seed and a host key in it, compressed as the catalogue's is."""
    raw, packed = directory / "seeded.raw", directory / "image.raw.zst"
    source = ImageCatalogue(SitePaths(demo.root).images).file_path(image)
    subprocess.run(["zstd", "-qd", "--sparse", source, "-o", raw], check=True)
    root = ImageFileRoot(find_root(str(raw)).target, directory)
    with open_workspace(demo.root) as workspace:
        keys = [public_half(login_key(workspace))]
        seed = render_seed(demo.root / "templates", workspace.repository, NODE.name, keys)
    for file in seed.files:
        root.write_file(file.path, file.text, int(file.mode, 8))
    root.make_ssh_host_key()
    subprocess.run(["zstd", "-q", "-3", raw, "-o", packed], check=True)
    return packed


@contextmanager
def _served(directory: Path) -> Iterator[int]:
    handler = functools.partial(_Quiet, directory=str(directory))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args: object) -> None:
        """Say nothing."""


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--minutes", type=float, default=14.0, help="begin no further round that would end later")
    parser.add_argument("--result", type=Path, default=RESULTS / "boot_clock.json", help="the file to write")
    return parser.parse_args()


if __name__ == "__main__":
    main()
