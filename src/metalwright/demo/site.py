"""The demo's site repository and its lab, made from one table of machines."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from metalwright.loading import SitePaths, read_addresses, release
from metalwright.model.image import Image
from metalwright.simulator.spec import LabSpec
from metalwright.starter.site import create_site

FACTORY_USER = "ADMIN"
FACTORY_PASSWORD_FILE = "factory-password"  # noqa: S105 - the name of a file
BLUEPRINT = "lab-vm@1.0.0"
SYSTEM_DISK_BYTES = 4 << 30
DATA_DISK_BYTES = 10 << 30
BMC_PORT = 8443
SSH_PORT = 2222


@dataclass(frozen=True)
class Machine:
    """What the sticker of one lab machine says; ``number`` makes the rest."""

    name: str
    number: int

    @property
    def serial(self) -> str:
        """Serial number in SMBIOS and in the BMC."""
        return f"MWLAB{self.number:04d}"

    @property
    def uuid(self) -> str:
        """System UUID."""
        return f"6d657461-6c77-4269-8000-{self.number:012d}"

    @property
    def bmc_mac(self) -> str:
        """MAC of the BMC's own port."""
        return f"52:54:00:bc:00:{self.number:02x}"

    @property
    def host_mac(self) -> str:
        """MAC of the host port."""
        return f"52:54:00:1a:00:{self.number:02x}"

    @property
    def system_disk(self) -> str:
        """Serial of the disk that the image is written to."""
        return f"SYS{self.number:04d}"

    @property
    def data_disk(self) -> str:
        """Serial of the disk that must stay as it is."""
        return f"DAT{self.number:04d}"


@dataclass(frozen=True)
class DemoSite:
    """Paths and addresses of one demo. ``loopback`` is the first two octets, e.g. ``127.77``.

    ``controller`` is this machine as the nodes see it: the gateway of QEMU's user network.
    """

    root: Path
    loopback: str
    machines: tuple[Machine, ...]
    controller: str = "10.1.0.2"

    @property
    def lab_dir(self) -> Path:
        """The lab's own directory: disks, state, console logs."""
        return self.root / ".metalwright" / "lab"

    @property
    def sweep_prefix(self) -> str:
        """Where BMCs answer as they were racked."""
        return f"{self.loopback}.0.96/28"

    def racked_bmc(self, machine: Machine) -> str:
        """The address that "DHCP" gave to a BMC."""
        return f"{self.loopback}.0.{100 + machine.number}"

    def ssh_host(self, machine: Machine) -> str:
        """Where SSH to the node goes: a forward into its own network."""
        return f"{self.loopback}.1.{machine.number}"

    def create(self, admin_key: str) -> None:
        """Write the site repository.

        Raises:
            UsageError: the directory is not empty.
        """
        create_site(
            self.root,
            inventory={
                "site.yaml": self._site_yaml(admin_key),
                "networks.yaml": self._networks_yaml(),
                "racks/lab.yaml": self._rack_yaml(),
            },
        )

    def pin_image(self, image: Image) -> None:
        """Pin the image that was just built, as an operator releases a blueprint that pins theirs."""
        path = SitePaths(self.root).blueprint(BLUEPRINT)
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        pins = {"name": image.name, "version": image.version, "file_sha256": image.file_sha256}
        start = next(number for number, line in enumerate(lines) if line.startswith("image:"))
        for number in range(start + 1, start + 1 + len(pins)):
            key = lines[number].split(":")[0].strip()
            lines[number] = f"  {key}: {pins[key]}\n"
        path.write_text("".join(lines), encoding="utf-8")
        release(self.root, [BLUEPRINT], replace=True)

    def lab_spec(self, **changes: Any) -> LabSpec:
        """The lab's machines; each forwards SSH to the address that the allocator gave to its node.

        ``changes`` replace fields of every machine (``backend="memory"`` and its commands, for tests).
        """
        paths = SitePaths(self.root)
        lock = read_addresses(paths.addresses, root=self.root)
        return LabSpec.model_validate(
            {
                "name": "demo",
                "machines": [
                    {**self._machine(machine, lock.of_node(machine.name)["host"]), **changes}
                    for machine in self.machines
                ],
            }
        )

    def _machine(self, machine: Machine, guest: str) -> dict[str, Any]:
        password = (self.root / ".metalwright" / FACTORY_PASSWORD_FILE).read_text(encoding="utf-8").strip()
        return {
            "name": machine.name,
            "serial": machine.serial,
            "uuid": machine.uuid,
            "backend": "qemu",
            "memory_mib": 1024,
            "bmc": {
                "address": self.racked_bmc(machine),
                "port": BMC_PORT,
                "macs": [machine.bmc_mac],
                "user": FACTORY_USER,
                "password": password,
            },
            "disks": [
                {"serial": machine.system_disk, "size_bytes": SYSTEM_DISK_BYTES, "note": "system"},
                {"serial": machine.data_disk, "size_bytes": DATA_DISK_BYTES, "note": "data"},
            ],
            "nics": [
                {
                    "mac": machine.host_mac,
                    "net": "10.1.0.0/24",
                    "host": "10.1.0.2",
                    "guest": guest,
                    "forwards": [{"listen": f"{self.ssh_host(machine)}:{SSH_PORT}", "guest_port": 22}],
                }
            ],
        }

    def _site_yaml(self, admin_key: str) -> str:
        return f"""# yaml-language-server: $schema=../schemas/site.json
# The demo: virtual machines whose BMCs answer on this machine's loopback range.
schema: 1
name: demo
region: loopback
domain: lab.example
ntp: [10.1.0.2]
factory_credentials:
  - {{user: {FACTORY_USER}, password: "file:.metalwright/{FACTORY_PASSWORD_FILE}"}}
redfish: {{port: {BMC_PORT}, connect_timeout_s: 5, read_timeout_s: 30}}
boot_server:
  listen: 127.0.0.1
  http_port: {self._port(80)}
  https_port: {self._port(81)}
  address_for_bmc: 127.0.0.1
  address_for_node: {self.controller}
admins:
  - name: ops
    authorized_keys: ["{admin_key}"]
ssh: {{user: metalwright, connect_timeout_s: 5}}
limits: {{parallel_nodes: 2, ramdisk_boot_minutes: 5, image_minutes: 15, os_boot_minutes: 6, bmc_settle_minutes: 2}}
"""

    def _port(self, suffix: int) -> int:
        """Ports of the boot server, from the second octet: two demos on one machine do not meet."""
        return 18000 + 100 * int(self.loopback.split(".")[1]) % 10000 + suffix

    def _networks_yaml(self) -> str:
        return f"""# yaml-language-server: $schema=../schemas/networks.json
schema: 1
networks:
  - name: bmc
    purpose: oob-management
    prefix: {self.loopback}.0.0/24
    reserved: [{self.loopback}.0.1-{self.loopback}.0.10, {self.loopback}.0.96-{self.loopback}.0.254]
  - name: host
    purpose: host-management
    prefix: 10.1.0.0/24
    gateway: 10.1.0.2
    reserved: [10.1.0.1-10.1.0.10]
"""

    def _rack_yaml(self) -> str:
        nodes = "".join(
            f"""  - name: {machine.name}
    unit: {machine.number}
    serial: {machine.serial}
    uuid: {machine.uuid}
    bmc_mac: "{machine.bmc_mac}"
    blueprint: {BLUEPRINT}
    ports: [{{mac: "{machine.host_mac}", role: host}}]
    ssh: {{host: {self.ssh_host(machine)}, port: {SSH_PORT}}}
"""
            for machine in self.machines
        )
        return f"""# yaml-language-server: $schema=../../schemas/rack.json
schema: 1
name: lab
site: demo
feeds: [{{name: a, volts: 230, breaker_a: 16}}]
nodes:
{nodes}"""
