"""What firmware is really answered by Kea and dnsmasq with the configurations that a site renders."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.unit.dhcp.test_boot_dhcp import exported, site_of_two

ROOT = Path(__file__).parents[3]
DEVICE = "mw0"


def answers(form: str, tmp_path: Path) -> dict[str, Any]:
    """The offers to each kind of machine; skips where a network of its own or the server is not to be had."""
    program = shutil.which({"kea": "kea-dhcp4", "dnsmasq": "dnsmasq"}[form], path="/usr/sbin:/sbin:/usr/bin")
    if program is None:
        pytest.skip(f"{form} is not installed here")
    probe = "import os; os.open('/dev/net/tun', os.O_RDWR)"
    if subprocess.run(["unshare", "-rn", sys.executable, "-c", probe], capture_output=True, check=False).returncode:
        pytest.skip("no network namespace with a tap device can be made here")
    text = exported(site_of_two(tmp_path / "site"), form, "--node", "n1").replace('"lo"', f'"{DEVICE}"')
    text = text.replace("interface=lo", f"interface={DEVICE}").replace('"persist": true', '"persist": false')
    text = text.replace("/var/lib/misc/dnsmasq-boot.leases", str(tmp_path / "leases"))
    config = tmp_path / "dhcp.conf"
    config.write_text(text)
    foreground = {"kea": ["-c", str(config)], "dnsmasq": ["-k", f"--conf-file={config}", "--user=", "--group="]}
    told = {"server": [program, *foreground[form]], "device": DEVICE, "address": "10.1.0.2/24"}
    places = {"KEA_PIDFILE_DIR": str(tmp_path), "KEA_LOCKFILE_DIR": str(tmp_path)}
    done = subprocess.run(
        ["unshare", "-rn", sys.executable, "-m", "tests.unit.dhcp.dhcp_client", json.dumps(told)],
        cwd=ROOT, env={**os.environ, **places}, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.parametrize("form", ["kea", "dnsmasq"])
def test_each_kind_of_firmware_gets_its_program_and_bios_and_strangers_get_no_answer(form: str, tmp_path: Path) -> None:
    found = answers(form, tmp_path)
    assert (found["bios"], found["stranger"]) == (None, None)
    known = {name: offer for name, offer in found.items() if offer is not None}
    assert len({offer["address"] for offer in known.values()}) == 1
    server = re.match(r"http://([\d.]+):", known["ipxe"]["file"])
    assert server is not None
    url = re.sub(r"^http://[\d.]+:\d+", "", known["ipxe"]["file"])
    assert url == "/pxe/boot.ipxe?mac=${netX/mac}"
    for name in ("uefi-pxe", "uefi-pxe-9"):
        assert (known[name]["file"], known[name]["next_server"]) == ("snponly.efi", server.group(1))
    assert known["uefi-http"]["file"].endswith("/pxe/snponly.efi")
    assert known["uefi-http"]["vendor_class"] == "HTTPClient"
