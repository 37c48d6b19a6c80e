"""The HTTPS certificate of a BMC: signed, announced, installed, proven; at every stop there is a way in."""

from __future__ import annotations

import hashlib
import ssl
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from cryptography import x509
from tests.operations.redfish.bench import Bench, alone
from tests.operations.redfish.in_process import run_deploy
from tests.operations.redfish.site import lab_site

from metalwright.deploys.harden import harden
from metalwright.journal.killing import KILL_VARIABLE
from metalwright.operations.redfish import certificate

OWN = "hardening: {certificate: {ca: own, valid_days: 90}}\n"
WANTED: dict[str, Any] = {"operation": certificate.https_certificate, "is_wanted": True}
_octets = count(1)


@contextmanager
def bench_with(directory: Path, hardening: str = OWN, **bmc_changes: Any) -> Iterator[Bench]:
    with lab_site(
        directory / "site", 1, next(_octets), prefix="127.116", site=hardening, bmc_changes=bmc_changes
    ) as site:
        yield Bench(site)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    with bench_with(tmp_path) as made:
        yield made


def shown(bench: Bench) -> x509.Certificate:
    where = urlsplit(bench.service.url)
    return x509.load_pem_x509_certificate(
        ssl.get_server_certificate((where.hostname or "", where.port or 443)).encode()
    )


def fingerprint(bench: Bench) -> str:
    where = urlsplit(bench.service.url)
    pem = ssl.get_server_certificate((where.hostname or "", where.port or 443))
    return hashlib.sha256(ssl.PEM_cert_to_DER_cert(pem)).hexdigest()


def pins(bench: Bench) -> tuple[str | None, frozenset[str]]:
    with bench.site.workspace().journal as journal:
        return journal.pins.get(bench.node), journal.pins.announced(bench.node)


def test_the_bmc_gets_a_certificate_of_the_sites_own_authority_for_a_key_that_it_made(bench: Bench) -> None:
    previewed = bench.preview(**WANTED)
    assert "certificate subject: bmc-LAB0001 → lab-1-bmc.lab.test" in previewed
    before = fingerprint(bench)
    first = bench.run(harden)
    assert first.is_ok, first.text
    assert "BMC certificate" in first.changed
    assert [line for line in first.diff if line.startswith("certificate")] == previewed

    now = shown(bench)
    authority = x509.load_pem_x509_certificate((bench.site.root / ".metalwright/bmc-ca.pem").read_bytes())
    now.verify_directly_issued_by(authority)
    names = now.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["lab-1-bmc.lab.test"]
    assert str(names.get_values_for_type(x509.IPAddress)[0]).startswith("127.116.64.")
    assert fingerprint(bench) != before
    assert pins(bench) == (fingerprint(bench), frozenset())

    bench.forget()
    second = bench.run(harden)
    assert (second.is_ok, second.changed) == (True, []), second.text
    assert bench.writes() == []


def test_the_authoritys_key_is_in_the_secret_store_alone(bench: Bench) -> None:
    assert bench.run(**WANTED).is_ok
    state = bench.site.root / ".metalwright"
    assert "PRIVATE" not in (state / "bmc-ca.pem").read_text()
    readable = [path for path in state.rglob("*") if path.is_file() and b"PRIVATE KEY" in path.read_bytes()]
    assert readable == []
    assert stat.S_IMODE((state / "secrets.key").stat().st_mode) == 0o600


def test_a_signing_request_that_comes_by_a_task_is_waited_for(bench: Bench) -> None:
    bench.system.faults.set("request-by-task")
    done = bench.run(**WANTED)
    assert done.is_ok, done.text
    assert pins(bench) == (fingerprint(bench), frozenset())
    assert [record.status for record in bench.seen("POST", "GenerateCSR")] == [202]
    assert len(bench.seen("GET", "TaskMonitors/CSR1")) == 3
    assert bench.preview(**WANTED) == []


def test_a_task_without_a_signing_request_fails_in_words(bench: Bench) -> None:
    bench.rule("POST", "GenerateCSR$", status=202, headers={"Location": "/redfish/v1/TaskService/TaskMonitors/9"})
    bench.rule("GET", "TaskMonitors/9$", status=200, body={"Name": "done"})
    refused = bench.run(**WANTED)
    assert not refused.is_ok
    assert "the BMC made no signing request" in refused.text
    bench.behave()
    bench.rule("POST", "GenerateCSR$", status=202, headers={"Location": "/redfish/v1/TaskService/TaskMonitors/9"})
    gone = bench.run(**WANTED)
    assert not gone.is_ok
    assert "gave no result" in gone.text


def test_a_certificate_is_renewed_when_little_of_its_time_is_left(bench: Bench) -> None:
    assert bench.run(**WANTED).is_ok
    before = fingerprint(bench)
    path = bench.site.root / "inventory/site.yaml"
    path.write_text(path.read_text().replace("valid_days: 90", "valid_days: 365, renew_days: 100"))
    assert any("expires in 89 days" in line for line in bench.preview(**WANTED))
    again = bench.run(**WANTED)
    assert again.is_ok, again.text
    assert fingerprint(bench) != before
    assert bench.preview(**WANTED) == []


def test_a_bmc_that_makes_no_key_is_sent_one_that_nothing_shows(tmp_path: Path) -> None:
    with bench_with(tmp_path, certificates="key") as bench:
        done = bench.run(**WANTED)
        assert done.is_ok, done.text
        assert "makes no key" in done.text
        assert "PRIVATE KEY" not in done.text
        assert pins(bench) == (fingerprint(bench), frozenset())
        assert [name for name, _ in bench.writes()] == ["POST CertificateService.ReplaceCertificate"]
        assert bench.preview(**WANTED) == []


def test_what_is_not_offered_is_refused_only_where_it_is_required(tmp_path: Path) -> None:
    with bench_with(tmp_path, certificates="none") as bench:
        told = bench.run(**WANTED)
        assert (told.is_ok, told.changed) == (True, [])
        assert "offers no way to replace its certificate" in told.text
        refused = bench.run(**WANTED, is_required=True)
        assert not refused.is_ok
        assert "the site requires it" in refused.text


PROGRAM = """import sys
from datetime import UTC, datetime, timedelta
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
request = x509.load_pem_x509_csr(sys.stdin.buffer.read())
now = datetime.now(UTC)
name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "company CA")])
key = ec.generate_private_key(ec.SECP256R1())
made = x509.CertificateBuilder().subject_name(request.subject).issuer_name(name).public_key(request.public_key())
made = made.serial_number(1).not_valid_before(now).not_valid_after(now + timedelta(days=60))
if "--bare" not in sys.argv:
    for item in request.extensions:
        made = made.add_extension(item.value, item.critical)
sys.stdout.write(made.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM).decode())
"""


@pytest.mark.parametrize("option", ["", " --bare"])
def test_a_program_of_the_site_signs_and_what_would_not_work_never_reaches_the_bmc(tmp_path: Path, option: str) -> None:
    program = tmp_path / "sign.py"
    program.write_text(PROGRAM)
    hardening = f'hardening: {{certificate: {{ca: "command:{sys.executable} {program}{option}"}}}}\n'
    with bench_with(tmp_path, hardening) as bench:
        before = fingerprint(bench)
        done = bench.run(**WANTED)
        if option:
            assert not done.is_ok
            assert "does not name lab-1-bmc.lab.test" in done.text
            assert (fingerprint(bench), pins(bench)[1]) == (before, frozenset())
            return
        assert done.is_ok, done.text
        assert shown(bench).issuer.rfc4514_string() == "CN=company CA"
        assert bench.preview(**WANTED) == []


def test_an_accepted_certificate_that_is_never_shown_leaves_the_earlier_pin(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(certificate, "PROOF_S", 2.0)
    before = fingerprint(bench)
    bench.system.faults.set("certificate-ignored")
    done = bench.run(**WANTED)
    assert not done.is_ok
    assert "does not show it within 2 s; the earlier pin stands" in done.text
    known, announced = pins(bench)
    assert (known, len(announced)) == (before, 1)
    bench.behave()
    assert bench.run(**WANTED).is_ok
    assert pins(bench) == (fingerprint(bench), frozenset())


def test_a_refused_certificate_is_not_accepted_later(bench: Bench) -> None:
    bench.rule("POST", "ReplaceCertificate", status=400)
    before = fingerprint(bench)
    assert not bench.run(**WANTED).is_ok
    assert pins(bench) == (before, frozenset())


def test_a_web_server_that_restarts_for_its_certificate_is_waited_for(bench: Bench) -> None:
    bench.system.faults.set("certificate-late", seconds=2.0)
    bench.rule("POST", "ReplaceCertificate", close="after")
    done = bench.run(**WANTED)
    assert done.is_ok, done.text
    assert pins(bench) == (fingerprint(bench), frozenset())


KILLS = [
    pytest.param("announce_pin.before", marks=pytest.mark.long),
    "announce_pin.after",
    "prove_pin.before",
    pytest.param("prove_pin.after", marks=pytest.mark.long),
]


@pytest.mark.parametrize("point", KILLS)
def test_after_a_kill_the_bmc_can_be_reached_and_the_next_run_ends_well(tmp_path: Path, point: str) -> None:
    with bench_with(tmp_path) as bench:
        killed = bench.site.deploy("harden", **{KILL_VARIABLE: point})
        assert killed.code != 0
        after = bench.run(harden)
        assert after.is_ok, after.text
        assert pins(bench) == (fingerprint(bench), frozenset())
        assert bench.run(harden).changed == []


def test_nobody_else_is_let_in_by_an_announcement(bench: Bench) -> None:
    assert bench.run(**WANTED).is_ok
    with bench.site.workspace().journal as journal:
        journal.pins.announce(bench.node, "ab" * 32, "a renewal that never came")
    assert bench.run(**WANTED).is_ok
    with bench.site.workspace().journal as journal:
        journal.pins.announce(bench.node, "cd" * 32, "again")
        journal.pins.prove(bench.node, "cd" * 32)
    refused = run_deploy(bench.site, alone(certificate.https_certificate, {"is_wanted": True}))
    assert not refused.is_ok
    assert "no credential was sent" in refused.text


def test_a_site_that_declares_no_certificate_keeps_the_factorys(tmp_path: Path) -> None:
    with bench_with(tmp_path, "") as bench:
        before = fingerprint(bench)
        assert bench.run(harden).is_ok
        assert fingerprint(bench) == before
