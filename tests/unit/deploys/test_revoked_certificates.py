"""Single certificates that open nothing any more: the list that the real ssh-keygen makes of site.yaml."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from pydantic import ValidationError
from tests.desired import site

from metalwright.node_files import REVOKED_LIST, ssh_trust, sshd_files
from metalwright.templates import render

TEMPLATES = Path(__file__).parents[3] / "templates"


def make_key(directory: Path, name: str) -> str:
    """The public half."""
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", directory / name], check=True)
    return (directory / f"{name}.pub").read_text().strip()


def certificate(directory: Path, authority: str, serial: int, identity: str) -> Path:
    """Of the person's key, signed by ``authority``."""
    signer, key = directory / authority, directory / f"{authority}-{serial}-{identity}.pub"
    key.write_text((directory / "person.pub").read_text())
    named = ["-z", str(serial), "-I", identity, "-n", "p", str(key)]
    subprocess.run(["ssh-keygen", "-q", "-s", str(signer), *named], check=True)
    return key.with_name(f"{key.stem}-cert.pub")


def test_serials_ranges_and_identities_are_revoked_for_their_authority_alone(tmp_path: Path) -> None:
    keys = {name: make_key(tmp_path, name) for name in ("old", "new", "person", "lost")}
    revoked = [
        {"authority": keys["old"], "serials": [17, "100-199"], "key_ids": ["amina laptop"]},
        {"authority": keys["new"], "serials": ["5"]},
    ]
    ssh = {"certificate_authorities": [keys["old"], keys["new"]], "revoked_keys": [keys["lost"]]}
    files = {item.path: item for item in sshd_files(ssh_trust(site(ssh={**ssh, "revoked_certificates": revoked})))}
    settings = files["/etc/ssh/sshd_config.d/00-metalwright.conf"]
    assert f"RevokedKeys {REVOKED_LIST}\n" in render(TEMPLATES, f"node/{settings.template}", settings.values)
    program = files["/usr/local/lib/metalwright/revoked.sh"]
    assert program.check == "sh"
    made = tmp_path / "list"
    text = render(TEMPLATES, f"node/{program.template}", {**program.values, "list": made})
    subprocess.run(["sh"], input=text, text=True, check=True)
    tried = {
        (authority, serial, identity): certificate(tmp_path, authority, serial, identity)
        for authority in ("old", "new")
        for serial, identity in ((17, "a"), (150, "a"), (200, "a"), (5, "a"), (300, "amina laptop"))
    }
    gone = {
        name
        for name, path in tried.items()
        if subprocess.run(["ssh-keygen", "-Q", "-f", str(made), str(path)], capture_output=True, check=False).returncode
    }
    assert gone == {("old", 17, "a"), ("old", 150, "a"), ("old", 300, "amina laptop"), ("new", 5, "a")}
    for name, code in (("person", 0), ("lost", 1)):
        asked = ["ssh-keygen", "-Q", "-f", str(made), str(tmp_path / f"{name}.pub")]
        assert subprocess.run(asked, capture_output=True, check=False).returncode == code, name


@pytest.mark.parametrize(
    ("authorities", "revoked", "told"),
    [
        (1, {"serials": []}, "named by serials or key_ids"),
        (1, {"serials": ["9-5"]}, "run backwards"),
        (1, {"serials": [0]}, "revoke them by key_ids"),
        (1, {"key_ids": ["a\nserial: 1"]}, "key_ids"),
        (2, {"serials": [1]}, "unless there is just one authority"),
        (1, {"serials": [1], "authority": "ssh-ed25519 BBBB"}, "not one of certificate_authorities"),
    ],
)
def test_what_would_revoke_nothing_or_something_else_is_refused(
    authorities: int, revoked: dict[str, object], told: str
) -> None:
    keys = [f"ssh-ed25519 AAAA{number}" for number in range(authorities)]
    with pytest.raises(ValidationError, match=told):
        site(ssh={"certificate_authorities": keys, "revoked_certificates": [revoked]})
