"""People on a real system: what sudo lets them do, certificates by ssh-keygen and sshd, accounts that are retired."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.machines import Machine, can_run_machines, segment
from tests.machines.site import MachineSite, machine_site

from metalwright.acceptance.readings import sudo_fault

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not can_run_machines(), reason="machines of namespaces need root, systemd and sshd"),
]
DEPLOY = "from metalwright.deploys.access import access\naccess()\n"
COMMANDS = ["/usr/bin/systemctl restart chrony.service", "/usr/bin/env --unset=HOME id"]


class Keys:
    """Key pairs of people and of an authority, made and signed by ssh-keygen."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        for name in ("authority", "stranger", "amina", "bo", "cy"):
            subprocess.run(
                ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", directory / name], check=True
            )

    def public(self, name: str) -> str:
        return (self.directory / f"{name}.pub").read_text().strip()

    def sign(self, name: str, principal: str, authority: str = "authority", serial: int = 0) -> Path:
        """``name``'s key with a certificate made out to ``principal``."""
        key, signer = self.directory / name, self.directory / authority
        command = ["ssh-keygen", "-q", "-s", str(signer), "-z", str(serial), "-I", name, "-n", principal, f"{key}.pub"]
        subprocess.run(command, check=True)
        return key


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Keys:
    return Keys(tmp_path_factory.mktemp("keys"))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, keys: Keys) -> Iterator[MachineSite]:
    """amina may run two commands, bo nothing, by a certificate alone; cy everything."""
    directory = tmp_path_factory.mktemp("people")
    with segment() as wires:
        made = machine_site(directory / "site", wires)
        made.write_deploy("people", DEPLOY)
        declare(made, keys)
        done = made.deploy("people")
        assert done.code == 0, done.text
        assert {"Accounts", "Keys and sudo", "sshd settings"} <= done.changed
        assert made.deploy("people").changed == set()
        yield made


@pytest.fixture
def node(site: MachineSite) -> Machine:
    return site.machines["lab-1"]


def declare(site: MachineSite, keys: Keys, *names: str, revoked: str = "", certificates: str = "") -> None:
    """Write these people (without any: all three) into site.yaml, one revoked key, and revoked certificates."""
    known = {
        "amina": f"authorized_keys: [{keys.public('amina')}]\n    sudo: {COMMANDS}",
        "bo": "principals: [bo-at-work]\n    sudo: none",
        "cy": f"authorized_keys: [{keys.public('cy')}]",
    }
    path = site.root / "inventory/site.yaml"
    text = path.read_text()
    head, rest = text[: text.index("admins:")], text[text.index("apt:") :]
    trust = f"certificate_authorities: [{keys.public('authority')}], revoked_keys: [{revoked}], "
    trust += f"revoked_certificates: [{certificates}], "
    login = rest[rest.index("private_key:") :]
    people = "".join(f"  - name: {name}\n    {known[name]}\n" for name in names or known)
    path.write_text(f"{head}admins:\n{people}{rest[: rest.index('ssh:')]}ssh: {{{trust}{login}")


def login_command(site: MachineSite, user: str, key: Path, command: str) -> list[str]:
    """ssh on the controller, with this key alone."""
    known = site.root / ".metalwright/known_hosts"
    options = ["BatchMode=yes", "IdentitiesOnly=yes", "IdentityAgent=none", f"UserKnownHostsFile={known}"]
    more = [item for option in options for item in ("-o", option)]
    target = f"{user}@{site.machines['lab-1'].address}"
    return site.segment.on_controller(["ssh", "-F", "none", *more, "-i", str(key), target, command])


def login(site: MachineSite, user: str, key: Path, command: str = "id -un") -> subprocess.CompletedProcess[str]:
    argv = login_command(site, user, key, command)
    return subprocess.run(argv, capture_output=True, text=True, timeout=30, check=False)


@pytest.mark.parametrize(("name", "wanted"), [("amina", COMMANDS), ("bo", "none"), ("cy", "all")])
def test_sudo_lets_people_do_what_is_declared_and_acceptance_reads_it(
    site: MachineSite, node: Machine, name: str, wanted: str | list[str]
) -> None:
    listed = node.run(f"sudo --non-interactive --list --other-user {name}", check=False).stdout
    assert sudo_fault(listed, wanted) is None
    assert sudo_fault(listed, "all" if name == "bo" else "none") is not None


def test_a_command_is_run_as_it_was_declared_and_not_otherwise(site: MachineSite, keys: Keys) -> None:
    allowed = login(site, "amina", keys.directory / "amina", "sudo -n /usr/bin/env --unset=HOME id")
    assert allowed.stdout.startswith("uid=0(root)"), allowed.stderr
    for command in ("sudo -n /usr/bin/env id", "sudo -n id", "sudo -n /usr/bin/systemctl restart ssh.service"):
        assert login(site, "amina", keys.directory / "amina", command).returncode != 0, command


def test_a_certificate_opens_the_account_of_its_principal_alone(site: MachineSite, keys: Keys) -> None:
    assert login(site, "bo", keys.sign("bo", "bo-at-work")).stdout == "bo\n"
    for user in ("cy", "amina", "metalwright", "root"):
        assert login(site, user, keys.directory / "bo").returncode == 255, user
    assert login(site, "bo", keys.sign("bo", "bo")).returncode == 255
    assert login(site, "bo", keys.sign("bo", "bo-at-work", "stranger")).returncode == 255


def test_a_revoked_key_opens_nothing_also_inside_a_certificate(site: MachineSite, keys: Keys) -> None:
    key = keys.sign("bo", "bo-at-work")
    assert login(site, "bo", key).returncode == 0
    declare(site, keys, revoked=keys.public("bo"))
    try:
        assert site.deploy("people").changed == {"sshd settings", "sshd reads its settings"}
        assert login(site, "bo", key).returncode == 255
        assert login(site, "cy", keys.directory / "cy").stdout == "cy\n"
    finally:
        declare(site, keys)
        site.deploy("people")


def test_a_single_certificate_is_revoked_by_its_serial_and_the_next_one_of_the_same_key_opens(
    site: MachineSite, node: Machine, keys: Keys
) -> None:
    old = keys.sign("bo", "bo-at-work", serial=17)
    assert login(site, "bo", old).returncode == 0
    declare(site, keys, certificates="{serials: [10-17]}")
    try:
        assert site.deploy("people").changed == {"sshd settings", "sshd reads its settings"}
        assert login(site, "bo", old).returncode == 255
        assert login(site, "bo", keys.sign("bo", "bo-at-work", serial=18)).stdout == "bo\n"
        assert login(site, "cy", keys.directory / "cy").stdout == "cy\n"
        assert site.deploy("people").changed == set()
    finally:
        declare(site, keys)
        site.deploy("people")
    assert node.run("sshd -T | grep -i revoked").stdout == "revokedkeys none\n"


def test_rules_that_visudo_refuses_never_take_the_place_of_the_old_ones(site: MachineSite, node: Machine) -> None:
    template = site.root / "templates/node/sudoers.j2"
    kept, before = template.read_text(), node.run("cat /etc/sudoers.d/metalwright-admins").stdout
    template.write_text("cy ALL=(ALL NOPASSWD: ALL\n")
    try:
        done = site.deploy("people")
    finally:
        template.write_text(kept)
    assert done.code != 0
    assert "syntax error" in done.text
    assert node.run("cat /etc/sudoers.d/metalwright-admins; ls /etc/sudoers.d | grep -c new", check=False).stdout == (
        f"{before}0\n"
    )


def test_an_account_that_is_no_longer_declared_is_closed_and_put_out(
    site: MachineSite, node: Machine, keys: Keys
) -> None:
    """One that others made loses its keys and nothing else."""
    node.run("useradd --create-home stranger; cp /etc/ssh/authorized_keys.d/cy /etc/ssh/authorized_keys.d/stranger")
    open_session = subprocess.Popen(
        login_command(site, "amina", keys.directory / "amina", "echo in; exec sleep 300"),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert open_session.stdout is not None
    assert open_session.stdout.readline() == "in\n"
    declare(site, keys, "bo", "cy")
    try:
        shown = site.pyinfra("--dry", "--diff", "inventory/nodes.py", "deploys/people.py")
        assert "account amina: may log in, is logged in → locked, ended, sessions closed" in shown.text
        assert "SSH keys of amina: there → absent" in shown.text
        assert "account stranger" not in shown.text
        done = site.deploy("people")
        assert (done.code, done.changed) == (0, {"Accounts", "Keys and sudo"}), done.text
        assert open_session.wait(10) != 0
        assert login(site, "amina", keys.directory / "amina").returncode == 255
        assert "amina" not in node.run("cat /etc/sudoers.d/metalwright-admins; ls /etc/ssh/authorized_keys.d").stdout
        assert node.run("chage --list amina").stdout.count("Jan 02, 1970") == 1
        assert "never" in node.run("chage --list stranger | grep 'Account expires'").stdout
        assert site.deploy("people").changed == set()
    finally:
        open_session.kill()
        open_session.communicate()
        declare(site, keys)
    done = site.deploy("people")
    assert (done.code, done.changed) == (0, {"Accounts", "Keys and sudo"}), done.text
    deadline = time.monotonic() + 10
    while (again := login(site, "amina", keys.directory / "amina")).returncode != 0 and time.monotonic() < deadline:
        time.sleep(0.5)
    assert again.stdout == "amina\n", again.stderr
