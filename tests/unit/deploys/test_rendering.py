"""The shipped templates give what acceptance asks for."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.desired import KEY, blueprint

from metalwright.acceptance.expectations import SSHD_SETTINGS
from metalwright.acceptance.readings import sshd_settings
from metalwright.deploys.rendering import node_file, rendered_files
from metalwright.errors import LoadingError
from metalwright.model.package import PackagePin, package_pins
from metalwright.node_files import NodeFile, opens_still

ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def _shipped_site(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("METALWRIGHT_SITE", str(ROOT))


def test_sshd_is_told_everything_that_acceptance_checks() -> None:
    written = sshd_settings(node_file("sshd.conf.j2", "/x", authorities=None, revoked=None, principals="/y")["text"])
    assert {key: written[key] for key in SSHD_SETTINGS} == SSHD_SETTINGS


def test_chrony_uses_the_sites_servers_and_no_others() -> None:
    text = node_file("chrony.conf.j2", "/x", ntp_servers=["10.0.0.1", "ntp.example"])["text"]
    assert re.findall(r"^(?:server|pool|peer) (\S+)", text, re.MULTILINE) == ["10.0.0.1", "ntp.example"]


def test_sudo_lets_everybody_do_what_is_declared_for_them() -> None:
    text = node_file(
        "sudoers.j2",
        "/x",
        mode="440",
        admins=[
            {"name": "amina", "sudo": "all"},
            {"name": "bo", "sudo": "none"},
            {"name": "cy", "sudo": ["/usr/bin/systemctl restart --now=a b:c", "/usr/bin/id"]},
        ],
    )["text"]
    assert text == (
        "amina ALL=(ALL:ALL) NOPASSWD: ALL\n"
        "cy ALL=(root) NOPASSWD: /usr/bin/systemctl restart --now\\=a b\\:c, /usr/bin/id\n"
    )


def test_keys_are_written_one_a_line() -> None:
    assert node_file("authorized_keys.j2", "/x", keys=[KEY, "b"])["text"] == f"{KEY}\nb\n"


def test_pins_allow_the_pinned_version_and_no_other() -> None:
    pins = [{"name": pin.name, "pattern": pin.pattern} for pin in package_pins(blueprint().software)]
    text = node_file("apt.preferences.j2", "/x", package_pins=pins)["text"]
    stanzas = [stanza for stanza in text.split("\n\n") if stanza.strip()]
    assert [stanza.splitlines()[2] for stanza in stanzas] == ["Pin-Priority: 1001", "Pin-Priority: -1"] * 2


VERSIONS = st.from_regex(r"\A([0-9]:)?[0-9]\.[0-9]{1,2}(\.[0-9])?([~+](ds|dfsg)[0-9]?)?-[0-9](\+deb12u[0-9])?\Z")


@given(pinned=st.from_regex(r"\A[0-9]\.[0-9]{1,2}(\.[0-9])?\Z"), candidate=VERSIONS)
def test_apts_pattern_and_our_own_rule_agree(pinned: str, candidate: str) -> None:
    pin = PackagePin(name="x", version=pinned, unit="x")
    assert bool(re.search(pin.pattern.strip("/"), candidate)) == pin.is_met_by(candidate)


@given(candidate=VERSIONS)
def test_a_whole_version_is_matched_by_its_own_pattern(candidate: str) -> None:
    pin = PackagePin(name="x", version=candidate, unit="x")
    assert re.search(pin.pattern.strip("/"), candidate)


def test_a_missing_value_or_template_is_an_error_with_the_path() -> None:
    with pytest.raises(LoadingError, match="'ntp_servers' is undefined") as caught:
        node_file("chrony.conf.j2", "/x")
    assert caught.value.where.endswith("templates/node/chrony.conf.j2")
    with pytest.raises(LoadingError, match="TemplateNotFound"):
        node_file("absent.j2", "/x")


@pytest.mark.parametrize(
    ("revoked", "is_refused"),
    [("ssh-ed25519 BBBB lost\n", False), ("ssh-ed25519 AAAA other comment\n", True), ("", False)],
)
def test_the_login_of_metalwright_itself_is_never_revoked(tmp_path: Path, revoked: str, is_refused: bool) -> None:
    (tmp_path / "keys").write_text("ssh-ed25519 AAAA metalwright\n")
    (tmp_path / "revoked").write_text(revoked)
    command = f"{opens_still(f'{tmp_path}/keys')} {tmp_path}/revoked"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode != 0) == is_refused, done.stderr
    assert ("every key of this login would be revoked" in done.stderr) == is_refused
    gone = subprocess.run(["sh", "-c", f"{opens_still(f'{tmp_path}/none')} {tmp_path}/revoked"], check=False)
    assert gone.returncode == 0, "a login without such a file is not ours to judge"


def test_a_value_may_be_called_as_a_property_of_the_file() -> None:
    """A bond has a mode, and so has its file."""
    bond = NodeFile("bond.netdev.j2", "/x", {"device": "bond-host", "mode": "802.3ad"}, mode="600")
    (file,) = rendered_files([bond], folder="seed")
    assert "Mode=802.3ad\n" in file["text"]
    assert file["mode"] == "600"
