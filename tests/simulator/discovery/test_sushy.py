"""``inspect`` and ``discover`` against sushy-tools, a Redfish service that shares nothing with us."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from tests.simulator.discovery.sites import make_site, run_process

from metalwright.model.report import HardwareReport

ADDRESS = "127.85.3.1"


@contextmanager
def emulator(folder: Path, *options: str) -> Iterator[int]:
    """``sushy-emulator --fake`` on a free port; it keeps its state in ``folder``."""
    with socket.create_server((ADDRESS, 0)) as probe:
        port: int = probe.getsockname()[1]
    config = folder / "emulator.conf"
    config.write_text(f"SUSHY_EMULATOR_STATE_DIR = {str(folder)!r}\n")
    program = Path(sys.executable).with_name("sushy-emulator")
    command = [str(program), "--fake", "--config", str(config), "-i", ADDRESS, "-p", str(port), *options]
    with (folder / "emulator.log").open("w") as log, subprocess.Popen(command, stdout=log, stderr=log) as child:
        try:
            _wait_until_it_listens(child, port, folder / "emulator.log")
            yield port
        finally:
            child.terminate()


def _wait_until_it_listens(child: subprocess.Popen[bytes], port: int, log: Path) -> None:
    for _ in range(600):
        if child.poll() is not None:
            break
        try:
            socket.create_connection((ADDRESS, port), timeout=1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise AssertionError(log.read_text())


def certificate(folder: Path) -> tuple[Path, Path]:
    """A self-signed certificate and its key, as files."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "sushy")])
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    builder = (
        builder.serial_number(1).not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))
    )
    pem = builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    plain = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (folder / "cert.pem").write_bytes(pem)
    (folder / "key.pem").write_bytes(plain)
    return folder / "cert.pem", folder / "key.pem"


@pytest.fixture
def secure(tmp_path: Path) -> Iterator[int]:
    cert, key = certificate(tmp_path)
    with emulator(tmp_path, "--ssl-certificate", str(cert), "--ssl-key", str(key)) as port:
        yield port


def test_inspect_reads_its_system_over_tls(secure: int) -> None:
    run = run_process("inspect", f"https://{ADDRESS}:{secure}", "--json")
    assert run.code == 0, run.err
    (report,) = [HardwareReport.model_validate(item) for item in run.json]
    assert report.system.id
    assert report.system.uuid is not None
    assert report.system.power_state in ("On", "Off")


def test_inspect_reads_it_over_http_only_when_told_to(tmp_path: Path) -> None:
    with emulator(tmp_path) as port:
        url = f"http://{ADDRESS}:{port}"
        assert run_process("inspect", url).code == 64
        run = run_process("inspect", url, "--json", "--insecure-http")
    assert run.code == 0, run.err
    assert len(json.loads(run.out)) == 1


def test_discover_sweeps_it_and_gives_the_text_for_the_rack_file(secure: int, tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    site = make_site(tmp_path / "site", [], secure)
    run = site.run("discover", f"{ADDRESS}/32", "--json", factory="any-secret-will-do")
    assert run.code == 0, run.err
    (unclaimed,) = run.json["unclaimed"]
    assert unclaimed["uuid"] in unclaimed["yaml"]
