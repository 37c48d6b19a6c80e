"""Firewall rules are in force on a real kernel, and what others loaded stays."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.operations.in_band.stand_in import commands_of

from metalwright.acceptance.readings import INPUT_POLICY, input_policy
from metalwright.deploys.rendering import node_file
from metalwright.operations.nftables import loaded
from metalwright.zones import NO_ZONES

RULES = "/etc/nftables.conf"
PORTS: dict[str, Any] = {
    "open_tcp_ports": [22],
    "zones": NO_ZONES,
    "scraped": {"ports": [9100, 9400], "ip": ["10.30.0.9", "10.31.0.0/24"], "ip6": ["2001:db8::9"]},
}
FOREIGN = "add table inet others; add chain inet others input { type filter hook input priority 10; policy accept; }"


def loading(policy: str | None, wanted: str | None, *, is_as_written: bool = True) -> tuple[list[str], list[str]]:
    state = {"policy": policy, "is_as_written": is_as_written}
    return commands_of(loaded, {"Firewall": state}, path=RULES, policy=wanted)


@pytest.mark.parametrize("policy", ["drop", None])
def test_rules_in_force_are_left_alone(policy: str | None) -> None:
    assert loading(policy, policy) == ([], ["the rules are loaded"])


@pytest.mark.parametrize(("policy", "wanted"), [(None, "drop"), ("accept", "drop"), ("drop", None)])
def test_rules_that_somebody_flushed_or_changed_are_loaded_again(policy: str | None, wanted: str | None) -> None:
    assert loading(policy, wanted)[0] == [f"nft --file {RULES}"]


def test_a_rule_that_somebody_added_is_taken_back() -> None:
    assert loading("drop", "drop", is_as_written=False)[0] == [f"nft --file {RULES}"]


def can_use_nft() -> bool:
    in_namespace = ["unshare", "--map-root-user", "--net", "--mount", "nft", "list", "ruleset"]
    return (
        shutil.which("nft") is not None
        and Path("/etc/protocols").exists()
        and subprocess.run(in_namespace, check=False).returncode == 0
    )


@pytest.mark.skipif(not can_use_nft(), reason="nft is not installed, or needs more rights than this user has")
@pytest.mark.parametrize(("firewall", "policy"), [("default-deny", "drop"), ("none", None)])
def test_the_shipped_rules_load_twice_and_leave_the_tables_of_others(
    firewall: str, policy: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a small system, which knows no names of protocols."""
    monkeypatch.setenv("METALWRIGHT_SITE", str(Path(__file__).parents[3]))
    rules = node_file("nftables.conf.j2", RULES, firewall=firewall, **PORTS)["text"]
    (tmp_path / "rules").write_text(rules)
    (tmp_path / "protocols").touch()
    script = (
        f"mount --bind protocols /etc/protocols && nft '{FOREIGN}' && nft -f rules && nft -f rules && {INPUT_POLICY}"
    )
    done = subprocess.run(
        ["unshare", "--map-root-user", "--net", "--mount", "sh", "-c", script],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert input_policy(done.stdout) == policy
    assert '"table": "others"' in done.stdout


def test_exporters_are_open_to_those_who_watch_and_ssh_to_everyone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("METALWRIGHT_SITE", str(Path(__file__).parents[3]))
    rules = node_file("nftables.conf.j2", RULES, firewall="default-deny", **PORTS)["text"]
    assert [line.strip() for line in rules.splitlines() if "dport" in line] == [
        "tcp dport { 22 } accept",
        "ip saddr { 10.30.0.9, 10.31.0.0/24 } tcp dport { 9100, 9400 } accept",
        "ip6 saddr { 2001:db8::9 } tcp dport { 9100, 9400 } accept",
    ]
