"""The software phase on a real system that misbehaves: systemd, dpkg, sshd and sudo of a machine of namespaces."""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyinfra.api import FactBase
from pyinfra.api.exceptions import FactProcessError
from tests.failures.machine_site import bare_node
from tests.machines import Machine, can_run_machines
from tests.machines.site import MachineSite

from metalwright.facts.apt import InstalledVersions, PackageCandidates
from metalwright.facts.files import FileStates
from metalwright.facts.logins import LoginNames
from metalwright.facts.nftables import Firewall
from metalwright.facts.system import Addresses, System
from metalwright.facts.systemd import ServiceStates
from metalwright.lifecycle.decisions import Act, Done, Failed, History, Wait
from metalwright.lifecycle.observations import RestartView, SoftwareObservation
from metalwright.lifecycle.software import decide_software
from metalwright.lifecycle.timing import Timing

pytestmark = pytest.mark.skipif(not can_run_machines(), reason="machines of namespaces need root, systemd and sshd")
MISSING = ["sh: 1: nft: not found"]
PINNED = """from metalwright.operations.apt import pinned
pinned(name="Pinned", pins=[{{"name": "containerd", "version": "{version}", "unit": "containerd.service"}}], {more})
"""
HOLD_LOCK = (
    'python3 -c \'import fcntl,select; f=open("/var/lib/dpkg/lock-frontend","w"); fcntl.lockf(f, fcntl.LOCK_EX);'
    " print(1,flush=True); select.select([0],[],[],{seconds})'"
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MachineSite]:
    """One site for the file; its tests leave the node deployed."""
    with bare_node(tmp_path_factory.mktemp("pyinfra")) as made:
        yield made


@pytest.fixture
def node(site: MachineSite) -> Machine:
    """The one machine."""
    return site.machines["lab-1"]


def test_py_01_a_bare_node_becomes_a_deployed_one_in_one_run(site: MachineSite, node: Machine) -> None:
    """Facts are read when their operation runs, after those before it have installed what they need."""
    assert node.run("dpkg-query --show containerd chrony", check=False).returncode != 0
    done = site.deploy("software")
    assert done.code == 0, done.text
    assert {"Pinned packages", "chrony settings", "Services"} <= done.changed
    assert (
        node.run("systemctl is-active containerd chrony prometheus-node-exporter nftables").stdout.count("active") == 4
    )


def test_py_12_a_second_run_changes_nothing(site: MachineSite) -> None:
    """Compares with the machine: after a run that succeeded no operation changes anything, and the dry run says so."""
    done = site.deploy("software")
    assert (done.code, done.changed) == (0, set()), done.text


@pytest.mark.parametrize(
    "fact",
    [
        InstalledVersions,
        PackageCandidates,
        FileStates,
        Firewall,
        ServiceStates,
        System,
        LoginNames,
        Addresses,
    ],
)
def test_py_02_a_missing_program_is_no_answer(fact: type[FactBase[Any]]) -> None:
    """Every fact has a line that only an answer holds; without it the host fails, and no default is taken."""
    with pytest.raises(FactProcessError):
        fact().process(MISSING)


def test_py_02_a_node_without_nft_fails_and_nothing_is_guessed(site: MachineSite, node: Machine) -> None:
    """The run stops at the fact whose program is missing."""
    node.run("mv /usr/sbin/nft /usr/sbin/nft.away")
    try:
        done = site.deploy("software")
    finally:
        node.run("mv /usr/sbin/nft.away /usr/sbin/nft")
    assert done.code != 0
    assert "could not load fact: metalwright.facts.nftables.Firewall" in done.text
    assert "Traceback" not in done.text


def test_py_05_a_restart_is_over_only_when_another_boot_answers() -> None:
    """Compares the kernel's boot id before and after, waits as long as the site allows, and restarts once at most."""
    history = History(acts={"software": 1, "restart": 1})
    old = RestartView(("kernel arguments",), is_new_boot=False)
    seen = [old, old, old, RestartView(None, detail="connection refused")]
    for view in seen:
        decision = decide_software(SoftwareObservation("r", None, view), history, Timing(os_boot_s=480.0))
        assert isinstance(decision, Wait)
        assert decision.limit_s == 480.0
    back = SoftwareObservation("r", None, RestartView((), is_new_boot=True))
    assert isinstance(decide_software(back, history, Timing()), Act)
    assert isinstance(decide_software(back, History(acts={"software": 2, "restart": 1}), Timing()), Done)
    again = SoftwareObservation("r", None, RestartView(("kernel arguments",), is_new_boot=True))
    assert isinstance(decide_software(again, history, Timing()), Failed)


def test_py_06_a_changed_host_key_stops_the_run_and_files_of_people_stay_as_they_are(
    site: MachineSite, node: Machine, tmp_path: Path
) -> None:
    """Keys are in the site's own file; a person's known_hosts, with whatever it holds, is neither read nor written."""
    person = tmp_path / ".ssh" / "known_hosts"
    person.parent.mkdir()
    person.write_text("# mine\n@cert-authority *.x ssh-ed25519 AAAAC3Nz\n|1|aGFzaA==|aGFzaA== ssh-rsa AAAA\n")
    before = person.read_bytes()
    known = site.root / ".metalwright/known_hosts"
    line = known.read_text()
    new = subprocess.run(
        ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / "other")], check=True, capture_output=True
    )
    assert new.returncode == 0
    known.write_text(f"{node.address} {(tmp_path / 'other.pub').read_text()}")
    try:
        done = site.deploy("software", HOME=str(tmp_path))
    finally:
        known.write_text(line)
    assert done.code != 0
    assert "Host key" in done.text
    assert person.read_bytes() == before


def test_py_07_what_a_login_prints_changes_no_fact(site: MachineSite, node: Machine) -> None:
    """Answers are marked lines or JSON; what stands around them does not count."""
    node.run(
        "cp /etc/bash.bashrc /root/kept;"
        "sed -i '1i echo Welcome!; echo bash: warning: setlocale: LC_ALL >&2' /etc/bash.bashrc"
    )
    node.run("printf 'LC_ALL=xx_YY.UTF-8\\n' > /etc/environment; sed -i '1i echo Good morning' ~metalwright/.bashrc")
    try:
        done = site.deploy("software")
    finally:
        node.run("cp /root/kept /etc/bash.bashrc; : > /etc/environment; sed -i 1d ~metalwright/.bashrc")
    assert (done.code, done.changed) == (0, set()), done.text


def test_py_08_a_secret_in_a_file_shows_nowhere_else(site: MachineSite, node: Machine) -> None:
    """Files travel on standard input; output, process lists and what stays on the node do not show them."""
    secret = "S3CR3T-XYZ-0815"
    site.write_deploy(
        "secret",
        "from pyinfra.operations import server\nfrom metalwright.operations.files import rendered\n"
        f'rendered(name="Token", files=[{{"path": "/etc/token", "text": "{secret}\\n", "mode": "600"}}])\n'
        'server.shell(name="Fail", commands=["cat /etc/token > /dev/null; exit 3"])\n',
    )
    done = site.pyinfra("-y", "-vvv", "--debug", "inventory/nodes.py", "deploys/secret.py")
    assert done.code != 0
    assert node.run("stat --format %a:%U /etc/token; cat /etc/token").stdout == f"600:root\n{secret}\n"
    assert secret not in done.text
    node.run("rm /etc/token")
    found = node.disk_script(f"grep -rl {secret} {{0}}/up || true")  # all that the machine has ever written
    assert found == ""
    assert secret not in node.run("journalctl --no-pager").stdout


def test_py_09_a_unit_that_dies_after_its_start_fails_the_host(site: MachineSite, node: Machine) -> None:
    """A service is watched for three seconds by state, sub-state and result together; a oneshot by its result."""
    node.run(
        "printf '[Service]\\nExecStart=/bin/sh -c \"sleep 1.5; exit 1\"\\n[Install]\\nWantedBy=multi-user.target\\n'"
        " > /etc/systemd/system/dies.service;"
        "printf '[Service]\\nType=oneshot\\nExecStart=/bin/true\\n[Install]\\nWantedBy=multi-user.target\\n'"
        " > /etc/systemd/system/once.service; systemctl daemon-reload"
    )
    deploy = 'from metalwright.operations.systemd import running\nrunning(name="Units", units=["{}"])\n'
    site.write_deploy("units", deploy.format("dies.service"))
    done = site.deploy("units")
    assert done.code != 0
    assert "dies.service does not run" in done.text
    site.write_deploy("units", deploy.format("once.service"))
    assert site.deploy("units").code == 0


def test_py_10_a_pinned_lower_version_is_installed_only_with_leave_and_held_again(
    site: MachineSite, node: Machine
) -> None:
    """A newer version than the pinned one is replaced with allow_downgrade alone; the hold is lifted and set again."""
    node.run("rm /etc/apt/preferences.d/metalwright; apt-get --quiet update")
    site.write_deploy("pins", PINNED.format(version="1.7.1-1", more=""))
    assert site.deploy("pins").code == 0
    site.write_deploy("pins", PINNED.format(version="1.6.20", more=""))
    refused = site.deploy("pins")
    assert refused.code != 0
    assert "a downgrade needs allow_downgrade" in refused.text
    assert node.run("dpkg-query --show --showformat '${Version}' containerd").stdout == "1.7.1-1"
    site.write_deploy("pins", PINNED.format(version="1.6.20", more="allow_downgrade=True"))
    assert site.deploy("pins").changed == {"Pinned"}
    assert node.run("dpkg-query --show --showformat '${Version}' containerd").stdout == "1.6.20~ds1-1+deb12u3"
    assert "containerd" in node.run("apt-mark showhold").stdout.split()
    assert site.deploy("software").code == 0


def test_py_11_the_lock_of_another_package_manager_is_waited_for_and_never_removed(
    site: MachineSite, node: Machine
) -> None:
    """Waits for the lock, at most as long as said, then fails in apt's own words. Locks are never removed."""
    site.write_deploy("pins", PINNED.format(version="1.6.20", more="lock_timeout_s=2"))
    node.run("apt-mark unhold containerd; dpkg --purge containerd")
    with _held(node, seconds=600) as holder:
        refused = site.deploy("pins")
        holder.communicate()
    assert refused.code != 0
    assert "Could not get lock /var/lib/dpkg/lock-frontend" in refused.text
    assert node.run("test -e /var/lib/dpkg/lock-frontend").returncode == 0
    site.write_deploy("pins", PINNED.format(version="1.6.20", more="lock_timeout_s=30"))
    with _held(node, seconds=4):
        done = site.deploy("pins")
    assert (done.code, done.changed) == (0, {"Pinned"}), done.text


def _held(node: Machine, *, seconds: float) -> subprocess.Popen[str]:
    command = node.command(["bash", "-c", "exec " + HOLD_LOCK.format(seconds=seconds)])
    holder = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "1\n"
    return holder


def test_py_13_a_refused_sudo_stops_the_run_before_anything_is_changed(site: MachineSite, node: Machine) -> None:
    """The first operation asks for the user id and the stamp; no answer, or another user than root, ends the run."""
    before = _state(node)
    node.run("mv /etc/sudoers.d/metalwright /root/kept")
    try:
        done = site.deploy("software")
    finally:
        node.run("mv /root/kept /etc/sudoers.d/metalwright")
    assert done.code != 0
    assert "commands do not run as root" in done.text
    assert "a password is required" in done.text
    assert "Traceback" not in done.text
    assert _state(node) == before


def test_py_14_a_node_gets_nothing_of_the_control_machine(site: MachineSite, node: Machine) -> None:
    """What is rendered takes values of the site, the blueprint and the node alone, whatever the controller is."""
    written = "/etc/apt /etc/chrony /etc/ssh/sshd_config.d /etc/sudoers.d /etc/nftables.conf"
    digest = "cat $(find " + written + " -name '*metalwright*' -type f -o -name '*.conf' -type f | sort) | sha256sum"
    before = node.run(digest).stdout
    done = site.deploy(
        "software", USER="somebody", LOGNAME="somebody", HOSTNAME="control-machine", LANG="C", TZ="Asia/Tokyo"
    )
    assert (done.code, done.changed) == (0, set()), done.text
    assert node.run(digest).stdout == before


def _state(node: Machine) -> str:
    text = node.run("cd /etc && find . -type f ! -name '*lock*' ! -path '*sudoers.d*' | sort | xargs sha256sum").stdout
    return hashlib.sha256(text.encode()).hexdigest()
