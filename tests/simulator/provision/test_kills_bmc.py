"""``kill -9`` while BMCs get logins, firmware and hardening, then provision again: the same end, nobody locked out.

A seeded point runs always (METALWRIGHT_KILL_SEED repeats it); in ``make test-lab`` runs die at each point once.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from cryptography import x509
from tests.simulator.provision.test_kills import SEED, kill_at_each_point, provision_until_free
from tests.simulator.provision.world import World, world

from metalwright.demo.site import FACTORY_USER

pytestmark = pytest.mark.timeout(900)

POINTS = range(8, 78)
"""Points that the runner passes in an undisturbed run, after its children's few and before the hardening's last."""
PARTS = 4
FEWEST_DEATHS = 10
"""In each part; the runner alone passes about ninety points."""
UPDATES = ("SimpleUpdate", "/update", "/update-multipart")


@contextmanager
def bmc_world(directory: Path, loopback: str, tiny_image: tuple[Path, str]) -> Iterator[World]:
    """A machine whose blueprint wants newer firmware of its BMC and its BIOS, and the images for it."""
    with world(directory, loopback, tiny_image) as site:
        root = site.demo.root
        site.edit("inventory/site.yaml", "bmc_settle_minutes: 2", "bmc_settle_minutes: 0.5")
        site.edit("blueprints/lab-vm/1.0.0.yaml", 'firmware: {bmc: ">=1.0", bios: ">=1.0"}', WANTED)
        (root / "blueprints/blueprints.lock").unlink()
        with (root / "inventory/site.yaml").open("a") as file:
            file.write("hardening: {certificate: {ca: own}}\n")
        files = root / "firmware/files"
        files.mkdir(parents=True)
        images = [_image(files, "bmc", "2.0", "bmc-restart"), _image(files, "bios", "2.5", "host-reset")]
        (root / "firmware/lab.yaml").write_text("schema: 1\nmodels: [Lab VM]\nimages:\n" + "".join(images))
        yield site


WANTED = 'firmware: {bmc: ">=2.0", bios: ">=2.0"}'


def _image(files: Path, component: str, version: str, activation: str) -> str:
    content = f"metalwright-firmware {component.upper()} {version}\n".encode() + b"\0" * 4096
    (files / f"{component}.bin").write_bytes(content)
    sha256 = hashlib.sha256(content).hexdigest()
    return (
        f'  - {{component: {component}, version: "{version}", file: {component}.bin, '
        f"file_sha256: {sha256}, activation: {activation}}}\n"
    )


def check_the_end(site: World, told: str) -> None:
    """Own account, both versions, no second flash of either, the factory's account shut, the site's certificate."""
    machine = site.machine
    report = json.loads(site.cli("inspect", machine.name, "--json").stdout)[0]
    assert (report["bmc"]["firmware_version"], report["system"]["bios_version"]) == ("2.0", "2.5"), told
    flashes = [entry for entry in site.writes(machine) if entry.args[1].endswith(UPDATES)]
    assert len(flashes) == 2, told
    state = json.loads((site.demo.lab_dir / "machines" / machine.name / "state.json").read_text())
    accounts = {account["user"]: account["enabled"] for account in state["accounts"]}
    assert accounts == {FACTORY_USER: False, "metalwright": True}, told
    shown = (site.demo.lab_dir / "machines" / machine.name / "bmc.pem").read_bytes()
    assert "CN=BMCs of " in x509.load_pem_x509_certificate(shown).issuer.rfc4514_string(), told


def finish(site: World, told: str) -> None:
    text, code = "", 1
    for _ in range(3):
        code, text = provision_until_free(site, "--until", "harden", *(["--retry"] if "--retry" in text else []))
        if code == 0:
            break
    assert code == 0, f"{told}\n{text}"
    check_the_end(site, told)
    before = len(site.writes(site.machine))
    code, text = site.provision("--until", "harden")
    assert code == 0, text
    assert len(site.writes(site.machine)) == before


def test_st_02_after_a_kill_the_bmc_has_its_login_its_firmware_once_and_its_hardening(
    tmp_path: Path, tiny_image: tuple[Path, str]
) -> None:
    point = random.Random(SEED).choice(POINTS)
    with bmc_world(tmp_path, "127.142", tiny_image) as site:
        provision_until_free(site, "--until", "harden", METALWRIGHT_KILL_AT=str(point))
        assert len(site.kills()) == 1, f"METALWRIGHT_KILL_SEED={SEED}: nothing died at point {point}"
        finish(site, f"METALWRIGHT_KILL_SEED={SEED}: point {point}")


@pytest.mark.long
@pytest.mark.parametrize("part", range(PARTS))
def test_st_02_after_a_kill_at_each_point_on_the_way(tmp_path: Path, tiny_image: tuple[Path, str], part: int) -> None:
    """Killed once at every point that runner and children pass, started again each time, the end is the same."""
    with bmc_world(tmp_path, "127.142", tiny_image) as site:
        deaths = kill_at_each_point(site, "--until", "harden", share=f"{part}/{PARTS}")
        assert deaths >= FEWEST_DEATHS
        finish(site, f"part {part} of {PARTS}: {site.kills()}")
