"""Lock files: round trip without loss, conflicts in git where they must, and damage is never a fresh start."""

from __future__ import annotations

import subprocess
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metalwright.errors import InvalidFilesError, LoadingError
from metalwright.loading import (
    parse_addresses,
    parse_known_good,
    read_addresses,
    read_known_good,
    render_addresses,
    render_known_good,
)
from metalwright.loading.locks import ADDRESSES, KNOWN_GOOD
from metalwright.model.addresses import AddressLock, Allocation, KnownGood, KnownGoodLock

PATH = Path("addresses.lock")
SLUGS = st.from_regex(r"[a-z0-9]([a-z0-9.-]{0,8}[a-z0-9])?", fullmatch=True)
ADDRESS_TEXTS = st.one_of(st.ip_addresses(v=4), st.ip_addresses(v=6)).map(str)


def test_a_lock_is_one_sorted_line_an_address() -> None:
    lock = AddressLock(
        allocations=(
            Allocation(address="2001:db8::1", network="pods", node="a"),
            Allocation(address="10.0.0.10", network="oob", node="a"),
            Allocation(address="10.0.0.9", network="oob", node="b", freed=date(2026, 11, 30)),
        )
    )
    assert render_addresses(lock).splitlines()[1:] == [
        "10.0.0.9 oob b freed=2026-11-30",
        "10.0.0.10 oob a",
        "2001:db8::1 pods a",
    ]


@given(st.dictionaries(ADDRESS_TEXTS, st.tuples(SLUGS, SLUGS, st.none() | st.dates()), max_size=6))
def test_addresses_survive_a_round_trip(records: dict[str, tuple[str, str, date | None]]) -> None:
    made = {Allocation(address=key, network=n, node=m, freed=f) for key, (n, m, f) in records.items()}
    distinct = {item.address: item for item in made}
    text = render_addresses(AddressLock(allocations=tuple(distinct.values())))
    parsed = parse_addresses(text, PATH)
    assert set(parsed.allocations) == set(distinct.values())
    assert render_addresses(parsed) == text


@given(
    st.dictionaries(SLUGS, st.tuples(st.text(max_size=8), st.dictionaries(st.text(max_size=4), st.text(max_size=4))))
)
def test_known_good_tuples_survive_a_round_trip(records: dict[str, tuple[str, dict[str, str]]]) -> None:
    nodes = tuple(
        KnownGood(
            node=node,
            blueprint="b@1.0.0",
            recipe=text,
            image="i@1",
            image_sha256="0",
            firmware=firmware,
            certificate=text,
            ssh_host_key="ssh-ed25519 AAAA",
        )
        for node, (text, firmware) in sorted(records.items())
    )
    text = render_known_good(KnownGoodLock(nodes=nodes))
    assert parse_known_good(text, PATH).nodes == nodes
    assert len(text.splitlines()) >= len(nodes) + 1


@pytest.mark.parametrize("data", [b"", b"\0" * 4096, b"# metalw", b"{}", ADDRESSES.header.encode()])
def test_a_damaged_lock_is_an_error_and_never_empty(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "addresses.lock"
    path.write_bytes(data)
    with pytest.raises(LoadingError) as caught:
        read_addresses(path, root=tmp_path)
    assert "git" in str(caught.value)


def test_a_lock_that_is_not_there_yet_is_empty(tmp_path: Path) -> None:
    assert read_addresses(tmp_path / "addresses.lock", root=tmp_path) == AddressLock()
    assert read_known_good(tmp_path / "known-good.lock", root=tmp_path) == KnownGoodLock()


@pytest.mark.parametrize(
    ("lines", "place", "part"),
    [
        ("10.0.0.1 oob a\n10.0.0.1 oob b\n", "3:1", "recorded twice"),
        ("10.0.0.2 oob a\n10.0.0.1 oob b\n", "3:1", "out of order"),
        ("10.0.0.1 oob\n", "2:1", "unreadable record"),
        ("10.0.0.999 oob a\n", "2:1", "address"),
        ("10.0.0.1 oob a freed=soon\n", "2:1", "freed"),
        ("10.0.0.1  oob a\n", "2:1", "records only"),
        ("<<<<<<< HEAD\n10.0.0.1 oob a\n=======\n10.0.0.1 oob b\n>>>>>>> x\n", "2:1", "unresolved merge"),
        ("10.0.0.1 oob a", "2:1", "cut off"),
    ],
)
def test_a_bad_line_is_told_at_its_place(lines: str, place: str, part: str) -> None:
    with pytest.raises(InvalidFilesError) as caught:
        parse_addresses(f"{ADDRESSES.header}\n{lines}", PATH)
    assert caught.value.errors[0].where == f"addresses.lock:{place}"
    assert part in caught.value.errors[0].what


def test_a_known_good_line_that_is_no_record_is_told() -> None:
    with pytest.raises(InvalidFilesError, match="unreadable record"):
        parse_known_good(f"{KNOWN_GOOD.header}\nlab-1 {{broken\n", PATH)


def _git(directory: Path, *arguments: str) -> int:
    settings = ["-c", "user.name=t", "-c", "user.email=t@example.net", "-c", "init.defaultBranch=main"]
    command = ["git", *settings, "-C", str(directory), *arguments]
    return subprocess.run(command, capture_output=True, check=False).returncode


@pytest.mark.parametrize(("left", "right", "merges"), [(1, 9, True), (4, 4, False)])
def test_two_branches_conflict_exactly_when_they_give_one_address_away(
    tmp_path: Path, left: int, right: int, merges: bool
) -> None:
    base = [Allocation(address=f"10.0.0.{n}", network="oob", node=f"n{n}") for n in (2, 3, 5, 6, 7, 8)]
    path = tmp_path / "addresses.lock"

    def commit(branch: str, *more: Allocation) -> None:
        path.write_text(render_addresses(AddressLock(allocations=(*base, *more))))
        assert _git(tmp_path, "add", ".") == 0
        assert _git(tmp_path, "commit", "-qm", branch) == 0

    assert _git(tmp_path, "init", "-q") == 0
    commit("base")
    assert _git(tmp_path, "checkout", "-qb", "left") == 0
    commit("left", Allocation(address=f"10.0.0.{left}", network="oob", node="x"))
    assert _git(tmp_path, "checkout", "-q", "main") == 0
    commit("right", Allocation(address=f"10.0.0.{right}", network="oob", node="y"))
    assert (_git(tmp_path, "merge", "-q", "left") == 0) is merges
