"""No password and no session token is in anything that a command prints or keeps, at the highest verbosity."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.failures.transport_bmcs import rule
from tests.operations.redfish.site import FACTORY_PASSWORD, LabSite, lab_site
from tests.simulator.discovery.sites import run_cli

from metalwright.simulator.service.sessions import Gate, Session

WRONG = "wr0ng-pa55word"
SEALED = ("secrets.enc", "secrets.key")


@pytest.fixture
def tokens(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every token that a simulated BMC gives away."""
    given: list[str] = []
    open_session = Gate.open_session

    def record(gate: Gate, *arguments: Any, **more: Any) -> Session:
        session = open_session(gate, *arguments, **more)
        given.append(session.token)
        return session

    monkeypatch.setattr(Gate, "open_session", record)
    return given


@pytest.fixture
def site(tmp_path: Path) -> Iterator[LabSite]:
    with lab_site(tmp_path / "site", 1, 203) as lab:
        yield lab


def forms(secret: str) -> set[bytes]:
    """A secret as it may stand in a text or in a header."""
    pairs = [base64.b64encode(f"{user}:{secret}".encode()) for user in ("admin", "metalwright")]
    return {secret.encode(), json.dumps(secret)[1:-1].encode(), *pairs}


def test_nothing_that_is_written_holds_a_password_or_a_token(site: LabSite, tokens: list[str]) -> None:
    url = site.machines["lab-1"].url
    quoted = {"code": "X.1.Bad", "message": f"the password {FACTORY_PASSWORD} of admin was changed"}
    rule(site.machines["lab-1"], "PATCH", "Systems/1$", status=400, body={"error": quoted})
    written = [site.pyinfra("-y", "-vvv", "--debug", "inventory/bmcs.py", "deploys/credentials.py").text]
    patch = ("exec", "--", "PATCH", "@system", '\'{"AssetTag": "X1"}\'')
    written.append(site.pyinfra("-y", "-vvv", "--debug", "inventory/bmcs.py", *patch).text)
    assert "X.1.Bad" in written[-1]
    for words in (["inspect", "lab-1"], ["discover", url], ["journal"]):
        run = run_cli("--site", str(site.root), "--debug", *words, FACTORY_PASSWORD=FACTORY_PASSWORD)
        written.append(run.out + run.err)
    refused = run_cli("--debug", "inspect", url, METALWRIGHT_BMC_USER="admin", METALWRIGHT_BMC_PASSWORD=WRONG)
    written.append(refused.out + refused.err)
    assert "refused the login" in written[-1]

    workspace = site.workspace()
    with workspace.journal:
        own = workspace.bmc_credentials.current("lab-1")
    assert own is not None, written[0]
    assert len(set(tokens)) >= 5
    secrets = [form for secret in (FACTORY_PASSWORD, WRONG, own.password.reveal(), *tokens) for form in forms(secret)]
    kept = [path for path in site.root.rglob("*") if path.is_file() and path.name not in SEALED]
    assert any(path.name == "journal.sqlite" for path in kept)
    for place, text in [
        *((f"output {number}", text.encode()) for number, text in enumerate(written)),
        *((str(path), path.read_bytes()) for path in kept),
    ]:
        assert not [form for form in secrets if form in text], place
