"""A certificate is worth what its signature covers."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from metalwright.acceptance.certificate import make_certificate, sign, verify_certificate, write_certificate
from metalwright.acceptance.signing import SigningKey, key_id_of, public_pem, site_signing_key, trusted_keys
from metalwright.errors import AcceptanceError
from metalwright.model.certificate import Certificate, PowerFigures, TestResult, TestVerdict

ISSUED = datetime(2026, 11, 30, 12, tzinfo=UTC)
KEY = SigningKey(Ed25519PrivateKey.generate())
KEYS = {KEY.key_id: KEY.public}


def certificate(verdict: TestVerdict = "PASS") -> Certificate:
    return make_certificate(
        node="lab-1",
        serials={"system": "MW-1"},
        recipe="sha256:1",
        image="debian-12@1",
        tests=[TestResult(name="cpu-hash", verdict=verdict, value=31.5, floor=20, unit="MB/s", why="ä")],
        issued=ISSUED,
        power=PowerFigures(idle=12.5),
    )


@pytest.fixture
def signed(tmp_path: Path) -> Path:
    write_certificate(sign(certificate(), KEY), tmp_path / "out" / "lab-1.json")
    return tmp_path / "out" / "lab-1.json"


def test_a_signed_certificate_is_read_back_as_it_was(signed: Path) -> None:
    assert verify_certificate(signed, KEYS, now=ISSUED) == sign(certificate(), KEY)


def test_the_file_has_the_published_shape(signed: Path) -> None:
    data = json.loads(signed.read_text())
    assert data["verdict"] == "PASS"
    assert data["signature"]["alg"] == "ed25519"
    assert set(data["tests"][0]) == {"name", "verdict", "value", "floor", "unit", "why"}
    assert data["power_w"] == {"idle": 12.5, "typical": None, "max": None}


@pytest.mark.parametrize("verdict", ["PASS", "FAIL", "NOT-RUN"])
def test_the_verdict_follows_from_the_tests(verdict: TestVerdict) -> None:
    assert certificate(verdict).verdict == verdict


def test_no_tests_make_no_pass() -> None:
    empty = make_certificate(node="n", serials={}, recipe="r", image="i", tests=[], issued=ISSUED)
    assert empty.verdict == "NOT-RUN"


@given(data=st.data())
def test_any_changed_byte_changes_nothing_or_is_refused(data: st.DataObject, tmp_path_factory: Any) -> None:
    path = tmp_path_factory.mktemp("certificate") / "c.json"
    write_certificate(sign(certificate(), KEY), path)
    original = path.read_bytes()
    position = data.draw(st.integers(0, len(original) - 1))
    value = data.draw(st.integers(0, 255).filter(lambda byte: byte != original[position]))
    path.write_bytes(original[:position] + bytes([value]) + original[position + 1 :])
    try:
        found = verify_certificate(path, KEYS, now=ISSUED)
    except AcceptanceError:
        return
    assert found == sign(certificate(), KEY), "only blanks between tokens may differ"


@given(key=st.sampled_from(["node", "verdict", "recipe", "image", "issued", "expires", "tests", "serials", "power_w"]))
def test_a_member_that_is_there_twice_is_refused(key: str, tmp_path_factory: Any) -> None:
    path = tmp_path_factory.mktemp("certificate") / "c.json"
    write_certificate(sign(certificate(), KEY), path)
    path.write_text(path.read_text().replace("{", f'{{"{key}": "PASS",', 1))
    with pytest.raises(AcceptanceError, match="cannot be read"):
        verify_certificate(path, KEYS, now=ISSUED)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"verdict": "FAIL"}, "does not fit"),
        ({"node": "lab-2"}, "does not fit"),
        ({"extra": 1}, "does not fit"),
        ({"signature": None}, "not signed"),
        ({"signature": {"alg": "none", "key_id": KEY.key_id, "value": ""}}, "not trusted"),
        ({"signature": {"alg": "ed25519", "key_id": "0" * 16, "value": ""}}, "not trusted"),
        ({"signature": {"alg": "ed25519", "key_id": KEY.key_id, "value": "!"}}, "does not fit"),
    ],
)
def test_a_forged_certificate_is_refused(signed: Path, change: dict[str, Any], message: str) -> None:
    signed.write_text(json.dumps(json.loads(signed.read_text()) | change))
    with pytest.raises(AcceptanceError, match=message):
        verify_certificate(signed, KEYS, now=ISSUED)


@pytest.mark.parametrize("text", ["", "[]", "null", "{", "[" * 100_000, "\xff"])
def test_what_is_no_certificate_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "c.json").write_text(text, encoding="latin-1")
    with pytest.raises(AcceptanceError):
        verify_certificate(tmp_path / "c.json", KEYS, now=ISSUED)


def test_an_absent_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AcceptanceError, match="cannot read the file"):
        verify_certificate(tmp_path / "none.json", KEYS, now=ISSUED)


def test_a_signed_verdict_that_its_tests_do_not_give_is_refused(tmp_path: Path) -> None:
    liar = certificate("FAIL").model_copy(update={"verdict": "PASS"})
    write_certificate(sign(liar, KEY), tmp_path / "c.json")
    with pytest.raises(AcceptanceError, match="does not follow"):
        verify_certificate(tmp_path / "c.json", KEYS, now=ISSUED)


def test_a_certificate_expires(signed: Path) -> None:
    verify_certificate(signed, KEYS, now=ISSUED + timedelta(days=364))
    with pytest.raises(AcceptanceError, match="expired") as caught:
        verify_certificate(signed, KEYS, now=ISSUED + timedelta(days=365))
    assert "metalwright accept lab-1" in str(caught.value)


def test_the_site_key_is_made_once_and_kept_private(tmp_path: Path) -> None:
    first, second = site_signing_key(tmp_path / "state"), site_signing_key(tmp_path / "state")
    assert first.key_id == second.key_id
    assert (tmp_path / "state" / "certificate.key").stat().st_mode & 0o777 == 0o600
    assert repr(first) == f"SigningKey({first.key_id})"


def test_makers_of_the_site_key_at_once_get_one_key(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        keys = list(pool.map(lambda _: site_signing_key(tmp_path).key_id, range(8)))
    assert len(set(keys)) == 1


def test_trusted_keys_come_from_the_state_and_the_inventory(tmp_path: Path) -> None:
    key = site_signing_key(tmp_path / "state")
    shared = tmp_path / "inventory" / "certificate-keys"
    shared.mkdir(parents=True)
    (shared / "other.pem").write_bytes(public_pem(KEY))
    found = trusted_keys([tmp_path / "state" / "certificate.pem", shared, tmp_path / "absent"])
    assert {key_id_of(public) for public in found.values()} == {key.key_id, KEY.key_id} == set(found)


def test_a_private_key_or_rubbish_is_no_trusted_key(tmp_path: Path) -> None:
    (tmp_path / "x.pem").write_text("rubbish")
    with pytest.raises(AcceptanceError, match="no public key"):
        trusted_keys([tmp_path])
