"""A node for tests of the software phase: the base image without the pinned software, seeded and booted in QEMU."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from metalwright.errors import SshError
from metalwright.imaging.agent.grow import find_root, grow_root
from metalwright.imaging.agent.root_file_system import ImageFileRoot
from metalwright.imaging.catalogue import ImageCatalogue
from metalwright.imaging.image_build import build_image
from metalwright.imaging.image_recipe import load_recipe
from metalwright.imaging.seed import render_seed
from metalwright.loading import SitePaths, load_site, release
from metalwright.model.digests import digest
from metalwright.model.image import Image, Stamp
from metalwright.simulator.qemu.accelerator import find_accelerator
from metalwright.simulator.qemu.firmware import find_firmware, find_qemu
from metalwright.ssh import Session, Target, connect, record_host_key
from metalwright.ssh.keys import ensure_private_key, public_half
from metalwright.starter.site import create_site

REPOSITORY = Path(__file__).parents[2]
CACHE = Path(os.environ.get("METALWRIGHT_CACHE", REPOSITORY / ".cache"))
SSH_HOST, SSH_PORT, HTTP_PORT = "127.84.1.1", 20000 + os.getpid() % 20000, 40000 + os.getpid() % 20000
MAC, GUEST, CONTROLLER = "52:54:00:84:00:01", "10.84.0.11", "10.84.0.2"
PINNED = ("containerd", "prometheus-node-exporter")
STAMP = Stamp(
    node="lab-1",
    run="r1",
    recipe="sha256:1",
    image="sha256:2",
    journal="j1",
    written=datetime(2026, 11, 30, tzinfo=UTC),
)
RACK = f"""schema: 1
name: lab
site: lab
nodes:
  - name: lab-1
    serial: SN-84
    uuid: 6d657461-6c77-4269-8000-000000000084
    blueprint: lab-vm@1.0.0
    ports: [{{mac: "{MAC}", role: host}}]
    ssh: {{host: {SSH_HOST}, port: {SSH_PORT}}}
"""
NETWORKS = """schema: 1
networks:
  - {name: bmc, purpose: oob-management, prefix: 127.84.0.0/24}
  - name: host
    purpose: host-management
    prefix: 10.84.0.0/24
    gateway: 10.84.0.2
    reserved: [10.84.0.1-10.84.0.10]
"""


def site_yaml(key: str, *people: str) -> str:
    """The site with these people as admins, all with one key."""
    admins = "".join(f'  - {{name: {name}, authorized_keys: ["{key}"]}}\n' for name in people)
    return f"""schema: 1
name: lab
domain: lab.example
ntp: [{CONTROLLER}]
boot_server: {{listen: 127.0.0.1, http_port: {HTTP_PORT}, address_for_bmc: 127.0.0.1, address_for_node: {CONTROLLER}}}
admins:
{admins}"""


def base_image() -> tuple[ImageCatalogue, Image]:
    """The image of virtual machines without the pinned software, built once per recipe."""
    whole = load_recipe(REPOSITORY / "templates", "debian-12")
    recipe = whole.model_copy(update={"packages": tuple(name for name in whole.packages if name not in PINNED)})
    catalogue = ImageCatalogue(CACHE / "images" / digest(recipe).removeprefix("sha256:")[:16])
    return catalogue, build_image(catalogue, recipe, "2026.11.1")


class SoftwareNode:
    """One site with one node; ``directory`` holds its disk and console log."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.site = directory / "site"
        self.target = Target("lab-1", SSH_HOST, SSH_PORT, "metalwright")
        create_site(self.site, inventory={"networks.yaml": NETWORKS, "racks/lab.yaml": RACK})
        self.key = ensure_private_key(self.site / ".metalwright" / "ssh" / "id_ed25519")
        self.set_people("amina")
        self.host_key = ""

    def set_people(self, *people: str) -> None:
        """Declare the admins of the site."""
        text = site_yaml(public_half(self.key), *people)
        (self.site / "inventory" / "site.yaml").write_text(text)

    def deploy_image(self) -> None:
        """Write the image to the disk, grow and seed it with the site's own seed, pin host key and image."""
        catalogue, image = base_image()
        shutil.copytree(catalogue.root, self.site / "images", copy_function=os.link)
        self._pin(image)
        disk = self.directory / "system.raw"
        subprocess.run(["zstd", "-qd", "--sparse", catalogue.file_path(image), "-o", disk], check=True)
        os.truncate(disk, 4 << 30)
        grow_root(str(disk))
        root = ImageFileRoot(find_root(str(disk)).target, self.directory)
        self._allocate()
        seed = render_seed(self.site / "templates", load_site(self.site), "lab-1", [public_half(self.key)])
        root.write_file("/etc/hostname", f"{seed.hostname}\n", 0o644)
        root.write_file("/etc/hosts", f"127.0.0.1 localhost\n127.0.1.1 {seed.fqdn} {seed.hostname}\n", 0o644)
        for file in seed.files:
            root.write_file(file.path, file.text, int(file.mode, 8))
        root.write_file("/etc/metalwright/stamp.json", STAMP.model_dump_json(by_alias=True), 0o644)
        self.host_key = root.make_ssh_host_key()
        record_host_key(self.site / ".metalwright" / "known_hosts", SSH_HOST, SSH_PORT, self.host_key)

    def _pin(self, image: Image) -> None:
        path = SitePaths(self.site).blueprint("lab-vm@1.0.0")
        lines = path.read_text().splitlines(keepends=True)
        pinned = [f"  file_sha256: {image.file_sha256}\n" if "file_sha256:" in line else line for line in lines]
        path.write_text("".join(pinned))
        release(self.site, ["lab-vm@1.0.0"], replace=True)

    def _allocate(self) -> None:
        argv = ["metalwright", "--site", str(self.site), "addresses", "allocate"]
        subprocess.run([REPOSITORY / ".venv" / "bin" / argv[0], *argv[1:]], check=True, capture_output=True)

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """The machine, until the end of the block."""
        firmware = find_firmware()
        variables = self.directory / "variables.fd"
        shutil.copyfile(firmware.variables, variables)
        qemu = find_qemu()
        kvm = find_accelerator(qemu, firmware) == "kvm"
        argv = [qemu, "-nodefaults", "-machine", "q35", "-m", "1024", "-display", "none", "-no-reboot"]
        argv += ["-accel", "kvm", "-cpu", "host"] if kvm else ["-accel", "tcg,tb-size=128", "-cpu", "max"]
        argv += ["-drive", f"if=pflash,unit=0,format=raw,readonly=on,file={firmware.code}"]
        argv += ["-drive", f"if=pflash,unit=1,format=raw,file={variables}", "-device", "virtio-rng-pci"]
        argv += ["-serial", f"file:{self.directory / 'console.log'}"]
        forward = f"hostfwd=tcp:{SSH_HOST}:{SSH_PORT}-{GUEST}:22"
        argv += ["-netdev", f"user,id=net0,net=10.84.0.0/24,host={CONTROLLER},{forward}"]
        argv += ["-device", f"virtio-net-pci,netdev=net0,mac={MAC},romfile="]
        argv += ["-drive", f"if=none,id=d0,format=raw,cache=unsafe,file={self.directory / 'system.raw'}"]
        argv += ["-device", "nvme,drive=d0,serial=SYS84,bootindex=1"]
        machine = subprocess.Popen(argv, stdin=subprocess.DEVNULL)
        try:
            yield
        finally:
            machine.kill()
            machine.wait()

    def session(self, timeout_s: float = 300) -> Session:
        """Log in as metalwright does, waiting for the system to come up."""
        deadline = time.monotonic() + timeout_s
        while True:
            try:
                return connect(self.target, host_key=self.host_key, key=self.key)
            except SshError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(1)

    def run(self, line: str, timeout_s: float = 120) -> str:
        """A shell line as root; it must succeed."""
        with self.session() as session:
            done = session.run(["sh", "-c", line], sudo=True, timeout_s=timeout_s)
        assert done.rc == 0, f"{line}: {done.stderr}"
        return done.stdout
