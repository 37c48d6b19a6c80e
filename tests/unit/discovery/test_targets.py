from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from metalwright.errors import UsageError
from metalwright.redfish.discovery import targets_of
from metalwright.redfish.places import Place

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


def places(*words: str, port: int = 443) -> list[str]:
    return [target.key for target in targets_of(words, port, NOW).targets]


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("10.20.0.11", "10.20.0.11:443"),
        ("10.20.0.11:8443", "10.20.0.11:8443"),
        ("https://bmc-1.example.net", "bmc-1.example.net:443"),
        ("https://10.20.0.11:8443/", "10.20.0.11:8443"),
        ("fe80::1", "[fe80::1]:443"),
        ("[fe80::1]:8443", "[fe80::1]:8443"),
        ("https://[fe80::1]:8443", "[fe80::1]:8443"),
    ],
)
def test_hosts_in_every_spelling(word: str, expected: str) -> None:
    assert places(word) == [expected]


def test_a_prefix_is_its_hosts_without_network_and_broadcast() -> None:
    assert places("10.20.0.0/30") == ["10.20.0.1:443", "10.20.0.2:443"]
    assert places("10.20.0.7/32", port=8443) == ["10.20.0.7:8443"]


def test_a_target_counts_once_and_a_named_one_stays_named() -> None:
    targets = targets_of(["10.20.0.0/30", "10.20.0.1", "10.20.0.1:443"], 443, NOW).targets
    assert [(target.place, target.is_named) for target in targets] == [
        (Place("10.20.0.1", 443), True),
        (Place("10.20.0.2", 443), False),
    ]


def test_a_file_holds_targets_a_line_each(tmp_path: Path) -> None:
    path = tmp_path / "leases"
    path.write_text("# row a\n10.20.0.0/31\n\n  10.20.0.9:8443   # the odd one\n")
    assert places(str(path)) == ["10.20.0.0:443", "10.20.0.1:443", "10.20.0.9:8443"]


@pytest.mark.parametrize(
    "word",
    ["10.0.0.0/8", "fd00::/64", "10.20.0.0/33", "two words", "", "http://10.20.0.1", "a:b:c/24", "https://10.20.0.1:0"],
)
def test_what_cannot_be_swept_is_wrong_usage(word: str) -> None:
    with pytest.raises(UsageError):
        targets_of([word], 443, NOW)


def test_a_file_that_is_not_there_is_no_silent_host() -> None:
    with pytest.raises(UsageError, match="no such file"):
        places("kea-leases4.csv")


def test_a_wrong_line_of_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "racks.txt").write_text(f"{tmp_path}/hosts.txt\n")
    (tmp_path / "hosts.txt").write_text("# rack 1\n10.20.0.11\n\nbmc 12  # two words\n")
    with pytest.raises(UsageError) as caught:
        places(str(tmp_path / "racks.txt"))
    assert caught.value.where == f"{tmp_path}/racks.txt:1: {tmp_path}/hosts.txt:4: bmc 12"


@pytest.mark.parametrize("word", ["admin:hunter2@10.20.0.1", "https://admin:hunter2@10.20.0.1", "admin:hun/ter2@b:x"])
def test_a_password_in_an_address_is_refused_and_not_repeated(word: str, tmp_path: Path) -> None:
    (tmp_path / "hosts.txt").write_text(f"{word}\n")
    for given in (word, str(tmp_path / "hosts.txt")):
        with pytest.raises(UsageError, match="a login does not belong into an address") as caught:
            places(given)
        assert "ter2" not in str(caught.value)


def test_a_file_without_any_target_is_refused(tmp_path: Path) -> None:
    (tmp_path / "hosts.txt").write_text("# row a\n\n")
    with pytest.raises(UsageError, match="no target stands in this file") as caught:
        places(str(tmp_path / "hosts.txt"))
    assert caught.value.where == f"{tmp_path}/hosts.txt"


def test_http_needs_permission() -> None:
    with pytest.raises(UsageError, match="--insecure-http"):
        places("http://127.0.0.1:8000")
    (target,) = targets_of(["http://127.0.0.1:8000"], 443, NOW, allow_http=True).targets
    assert target.url == "http://127.0.0.1:8000"
