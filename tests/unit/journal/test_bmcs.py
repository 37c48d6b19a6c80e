"""What is remembered about BMCs: pins, refused logins, addresses; and the host keys of nodes."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.journal.conftest import HandClock

from metalwright.errors import BmcCertificateError
from metalwright.journal.bmcs import LoginLatch
from metalwright.journal.journal import Journal


def test_the_first_certificate_is_pinned_and_no_other_one(journal: Journal, clock: HandClock) -> None:
    assert journal.pins.get("lab-1") is None
    journal.pins.record("lab-1", "aa" * 32)
    journal.pins.record("lab-1", "aa" * 32)
    with pytest.raises(BmcCertificateError) as caught:
        journal.pins.record("lab-1", "bb" * 32)
    assert (caught.value.expected, caught.value.found) == ("aa" * 32, "bb" * 32)
    pin = journal.pins.pin("lab-1")
    assert pin is not None
    assert (pin.fingerprint, pin.first_seen) == ("aa" * 32, clock.now)
    assert [event.what for event in journal.events.of()] == ["certificate pinned at first use"]


def test_an_announced_certificate_becomes_the_pin_only_when_it_was_shown(journal: Journal) -> None:
    journal.pins.record("lab-1", "aa" * 32)
    journal.pins.announce("lab-1", "bb" * 32, "renewed")
    journal.pins.announce("lab-1", "cc" * 32, "renewed again")
    assert journal.pins.get("lab-1") == "aa" * 32
    assert journal.pins.announced("lab-1") == {"bb" * 32, "cc" * 32}
    assert journal.pins.announced("lab-2") == frozenset()
    journal.pins.prove("lab-1", "bb" * 32)
    assert (journal.pins.get("lab-1"), journal.pins.announced("lab-1")) == ("bb" * 32, frozenset())
    act = journal.events.of()[-1]
    assert (act.what, act.is_act) == ("certificate pin replaced", True)


def test_a_certificate_that_nobody_announced_proves_nothing(journal: Journal) -> None:
    journal.pins.record("lab-1", "aa" * 32)
    with pytest.raises(BmcCertificateError):
        journal.pins.prove("lab-1", "bb" * 32)
    journal.pins.announce("lab-1", "bb" * 32, "renewed")
    journal.pins.withdraw("lab-1", "bb" * 32, "refused")
    with pytest.raises(BmcCertificateError):
        journal.pins.prove("lab-1", "bb" * 32)
    assert journal.pins.get("lab-1") == "aa" * 32


def test_a_sweep_that_sees_the_announced_certificate_pins_it(journal: Journal) -> None:
    journal.pins.record("lab-1", "aa" * 32)
    journal.pins.announce("lab-1", "bb" * 32, "renewed")
    journal.pins.record("lab-1", "bb" * 32)
    assert journal.pins.get("lab-1") == "bb" * 32


def test_logins_at_one_bmc_come_one_after_the_other(journal: Journal, tmp_path: Path) -> None:
    one, other = (LoginLatch(journal.refused_logins, b"key", tmp_path) for _ in range(2))
    assert one.try_enter("lab-1")
    assert not other.try_enter("lab-1")
    assert not one.try_enter("lab-1")
    assert other.try_enter("lab-2")
    one.leave("lab-1")
    one.leave("lab-1")
    assert other.try_enter("lab-1")
    other.leave("lab-1")
    other.leave("lab-2")


def test_a_refused_login_is_remembered_until_cleared(journal: Journal, tmp_path: Path) -> None:
    latch = LoginLatch(journal.refused_logins, b"key", tmp_path)
    assert latch.hmac_key == b"key"
    assert not latch.is_latched("lab-1", "c1")
    latch.latch("lab-1", "c1", "401 at login")
    latch.latch("lab-1", "c1", "again")
    assert latch.is_latched("lab-1", "c1")
    assert not latch.is_latched("lab-1", "c2")
    assert not latch.is_latched("lab-2", "c1")
    assert [item.why for item in journal.refused_logins.of("lab-1")] == ["401 at login"]
    assert journal.refused_logins.clear("lab-1", "password reset at the console") == 1
    assert not latch.is_latched("lab-1", "c1")
    assert journal.events.of(node="lab-1")[-1].why == "password reset at the console"


def test_the_newest_sighting_of_a_bmc_wins(journal: Journal, clock: HandClock) -> None:
    first = clock.now
    journal.bmc_addresses.record("lab-1", "127.77.0.101", 8443, first)
    later = clock.move(minutes=1)
    journal.bmc_addresses.record("lab-1", "127.77.0.11", 8443, later)
    journal.bmc_addresses.record("lab-1", "127.77.0.101", 8443, first)
    seen = journal.bmc_addresses.get("lab-1")
    assert seen is not None
    assert (seen.address, seen.port, seen.seen) == ("127.77.0.11", 8443, later)
    assert journal.bmc_addresses.all() == (seen,)
    assert journal.bmc_addresses.get("lab-2") is None


def test_earlier_host_keys_are_kept(journal: Journal) -> None:
    assert journal.host_keys.current("lab-1") is None
    journal.host_keys.record("lab-1", "ssh-ed25519 AAAA root@old", "d1")
    journal.host_keys.record("lab-1", "ssh-ed25519 AAAA root@old", "d1")
    journal.host_keys.record("lab-1", "ssh-ed25519 BBBB", "d2")
    current = journal.host_keys.current("lab-1")
    assert current is not None
    assert current.key == "ssh-ed25519 BBBB"
    assert [item.key for item in journal.host_keys.history("lab-1")] == ["ssh-ed25519 AAAA", "ssh-ed25519 BBBB"]
