"""A BMC login changes without a moment in which nobody knows it."""

from __future__ import annotations

from pathlib import Path

import pytest

from metalwright.errors import SecretError
from metalwright.model.site import FactoryCredential
from metalwright.redfish.credentials import Credentials
from metalwright.secrets.bmc_credentials import BmcCredentials, Candidate, credential_id
from metalwright.secrets.encrypted import EncryptedFileStore
from metalwright.secrets.passwords import PasswordRules
from metalwright.secrets.value import Secret

FACTORY = (
    FactoryCredential(manufacturer="Supermicro", user="ADMIN", password="file:supermicro"),
    FactoryCredential(manufacturer="Dell", user="root", password="file:dell"),
    FactoryCredential(user="admin", password="file:any"),
)


@pytest.fixture
def credentials(tmp_path: Path) -> BmcCredentials:
    for name in ("supermicro", "dell", "any"):
        (tmp_path / name).write_text(f"factory-{name}")
    return opened(tmp_path)


def opened(directory: Path) -> BmcCredentials:
    store = EncryptedFileStore(directory / "secrets.enc", Secret("the key of this test"))
    return BmcCredentials(store, factory=FACTORY, base=directory)


def shown(candidates: tuple[Candidate, ...]) -> list[tuple[str, str, int]]:
    return [(candidate.origin, candidate.user, candidate.version) for candidate in candidates]


def test_a_fresh_bmc_has_the_factorys_logins_in_order(credentials: BmcCredentials) -> None:
    assert [item.user for item in credentials.candidates("lab-1")] == ["ADMIN", "root", "admin"]
    assert [item.user for item in credentials.candidates("lab-1", "dell")] == ["root", "admin"]
    assert [item.user for item in credentials.factory("Supermicro")] == ["ADMIN", "admin"]
    assert credentials.current("lab-1") is None


def test_a_change_has_two_candidates_and_ends_with_one(credentials: BmcCredentials) -> None:
    factory = credentials.candidates("lab-1")[1]
    staged = credentials.stage("lab-1", replaces=factory)
    assert shown(credentials.candidates("lab-1")) == [("staged", "root", 1), ("factory", "root", 0)]
    assert credentials.candidates("lab-1")[0] == staged
    current = credentials.promote("lab-1", staged.credential_id)
    assert (current.password, current.origin, current.version) == (staged.password, "current", 1)
    assert shown(credentials.candidates("lab-1", "Dell")) == [
        ("current", "root", 1),
        ("factory", "root", 0),
        ("factory", "admin", 0),
    ]


def test_the_next_change_keeps_the_current_one_until_the_new_one_is_proven(credentials: BmcCredentials) -> None:
    first = credentials.stage("lab-1", replaces=credentials.candidates("lab-1")[0], user="metalwright")
    current = credentials.promote("lab-1", first.credential_id)
    staged = credentials.stage("lab-1", replaces=current)
    assert shown(credentials.candidates("lab-1")) == [("staged", "metalwright", 2), ("current", "metalwright", 1)]
    assert credentials.current("lab-1") == current
    assert credentials.promote("lab-1", staged.credential_id).version == 2


def test_staging_again_returns_what_may_be_on_the_bmc(credentials: BmcCredentials, tmp_path: Path) -> None:
    factory = credentials.candidates("lab-1")[0]
    staged = credentials.stage("lab-1", replaces=factory)
    assert opened(tmp_path).stage("lab-1", replaces=factory) == staged


def test_promoting_is_safe_to_repeat(credentials: BmcCredentials) -> None:
    staged = credentials.stage("lab-1", replaces=credentials.candidates("lab-1")[0])
    assert credentials.promote("lab-1", staged.credential_id) == credentials.promote("lab-1", staged.credential_id)


def test_only_the_staged_login_can_be_promoted(credentials: BmcCredentials) -> None:
    factory = credentials.candidates("lab-1")[0]
    with pytest.raises(SecretError):
        credentials.promote("lab-1", factory.credential_id)
    credentials.stage("lab-1", replaces=factory)
    with pytest.raises(SecretError):
        credentials.promote("lab-1", factory.credential_id)


def test_a_staged_login_that_the_bmc_refused_is_forgotten(credentials: BmcCredentials) -> None:
    factory = credentials.candidates("lab-1")[0]
    refused = credentials.stage("lab-1", replaces=factory)
    credentials.unstage("lab-1")
    assert credentials.candidates("lab-1")[0] == factory
    fitting = credentials.stage("lab-1", replaces=factory, rules=PasswordRules(max_length=16))
    assert len(fitting.password) == 16
    assert fitting.credential_id != refused.credential_id


def test_the_name_of_a_login_is_the_redfish_clients_and_lasts(credentials: BmcCredentials, tmp_path: Path) -> None:
    candidate = credentials.candidates("lab-1")[0]
    key = opened(tmp_path).latch_key
    assert candidate.credential_id == Credentials("ADMIN", "factory-supermicro").identifier(key)
    assert candidate.credential_id == credential_id(key, "ADMIN", Secret("factory-supermicro"))
    assert candidate.credential_id != credential_id(b"another key", "ADMIN", Secret("factory-supermicro"))


def test_nodes_do_not_share_logins(credentials: BmcCredentials) -> None:
    for node in ("lab-1", "lab-2"):
        staged = credentials.stage(node, replaces=credentials.candidates(node)[0])
        credentials.promote(node, staged.credential_id)
    first, second = (credentials.current(node) for node in ("lab-1", "lab-2"))
    assert first is not None
    assert second is not None
    assert first.password != second.password


def test_no_text_of_a_candidate_shows_its_password(credentials: BmcCredentials) -> None:
    staged = credentials.stage("lab-1", replaces=credentials.candidates("lab-1")[0])
    assert staged.password.reveal() not in repr(staged)
    assert "factory-supermicro" not in repr(credentials.candidates("lab-2"))
