"""The independent Redfish service: sushy-tools with its fake driver, over real TLS. Its oddities are real.

It has no session service (Basic authentication), applies resets after some seconds, and knows no BIOS.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.operations.redfish.site import run_pyinfra
from tests.simulator.redfish.conftest import make_certificate
from tests.simulator.sushy_tools import sushy_emulator

from metalwright.errors import BmcAnswerError, BmcRefusedError
from metalwright.redfish import Contact, Credentials, MemoryPins
from metalwright.redfish.async_client import AsyncClient
from metalwright.redfish.blocking_client import BlockingClient
from metalwright.redfish.links import Topology, find
from metalwright.starter.site import skeleton_root

ADDRESS = "127.83.0.7"


@pytest.fixture(scope="module")
def sushy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """URL and certificate fingerprint of a running emulator."""
    folder = tmp_path_factory.mktemp("sushy")
    _, fingerprint = make_certificate(folder)
    settings = "SUSHY_EMULATOR_FEATURE_SET = 'full'\n"
    with sushy_emulator(folder, ADDRESS, next(folder.glob("*.pem")), settings) as port:
        yield f"https://{ADDRESS}:{port}", fingerprint


def test_both_clients_read_it_alike(sushy: tuple[str, str], caplog: pytest.LogCaptureFixture) -> None:
    url, fingerprint = sushy
    pins = MemoryPins()
    contact = Contact(url, Credentials("admin", "any-pa55word"), pins=pins)
    with caplog.at_level(logging.DEBUG), BlockingClient(contact) as client:
        system = client.run(find(client.state, Topology(), "@system")).value
        manager = client.run(find(client.state, Topology(), "@manager")).value
    assert pins.pins[f"{ADDRESS}:{url.rsplit(':', 1)[1]}"] == fingerprint
    assert "using Basic authentication" in caplog.text
    assert "any-pa55word" not in caplog.text

    async def main() -> tuple[object, object]:
        async with AsyncClient(contact) as client:
            return await client.find("@system"), await client.find("@manager")

    again = asyncio.run(main())
    assert (system["UUID"], manager["UUID"]) == (again[0]["UUID"], again[1]["UUID"])  # type: ignore[index]  # JSON


def test_what_it_does_not_offer_is_a_typed_answer(sushy: tuple[str, str]) -> None:
    with BlockingClient(Contact(sushy[0])) as client, pytest.raises((BmcAnswerError, BmcRefusedError)) as caught:
        client.run(find(client.state, Topology(), "@root/AccountService/Accounts/*"))
    assert sushy[0] in str(caught.value)


def test_power_is_switched_and_read_back_through_plain_pyinfra(sushy: tuple[str, str], tmp_path: Path) -> None:
    host = f"@redfish/{sushy[0].removeprefix('https://')}"
    login = {
        "METALWRIGHT_BMC_USER": "admin",
        "METALWRIGHT_BMC_PASSWORD": "any-pa55word",
        "METALWRIGHT_BMC_FINGERPRINT": sushy[1],
    }
    switch = ("-y", "--json", host, "metalwright.operations.redfish.power.state", "wanted=On")
    first = run_pyinfra(tmp_path, switch, login)
    assert first.code == 0, first.text
    assert first.results["operations"][0]["success"] == [host]
    second = run_pyinfra(tmp_path, switch, login)
    assert second.results["operations"][0]["no_change"] == [host]

    facts = run_pyinfra(tmp_path, ("--json", host, "fact", "metalwright.facts.redfish.Power"), login)
    assert '"state": "On"' in json.dumps(json.loads(facts.stdout))
    wrong = run_pyinfra(tmp_path, switch, {**login, "METALWRIGHT_BMC_FINGERPRINT": "0" * 64})
    assert wrong.code == 1
    assert "not the pinned one; no credential was sent" in wrong.text
    for run in (first, second, facts, wrong):
        assert "any-pa55word" not in run.text


def test_hardening_says_what_it_does_not_offer_and_changes_nothing(sushy: tuple[str, str], tmp_path: Path) -> None:
    login = {
        "METALWRIGHT_BMC_USER": "admin",
        "METALWRIGHT_BMC_PASSWORD": "any-pa55word",
        "METALWRIGHT_BMC_FINGERPRINT": sushy[1],
    }
    deploy = skeleton_root() / "deploys/harden.py"
    words = ("-y", "--json", f"@redfish/{sushy[0].removeprefix('https://')}", str(deploy))
    run = run_pyinfra(tmp_path, words, login)
    assert run.code == 0, run.text
    assert run.changed == set()
    assert "this BMC offers no settings of its network protocols" in run.text
