"""Lease files of Kea, dnsmasq and ISC dhcpd: later entries win, what has expired is left out, MACs are kept."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metalwright.errors import UsageError
from metalwright.redfish.discovery import targets_of
from metalwright.redfish.discovery.leases import read_leases

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
LATER, EARLIER = (int((NOW + timedelta(hours=hours)).timestamp()) for hours in (1, -1))
MAC = "52:54:00:bc:00:01"

KEA = f"""address,hwaddr,client_id,valid_lifetime,expire,subnet_id,fqdn_fwd,fqdn_rev,hostname,state,user_context
10.0.0.1,{MAC},,3600,{EARLIER},1,0,0,old,0,
10.0.0.2,52:54:00:bc:00:02,01:52,3600,{EARLIER},1,0,0,,0,
10.0.0.3,52:54:00:bc:00:03,,3600,{LATER},1,0,0,,1,
10.0.0.4,52:54:00:bc:00:04,,4294967295,0,1,0,0,idrac-abc1234,0,
10.0.0.5,52:54:00:bc:00:05,,0,{LATER},1,0,0,,0,
10.0.0.1,52-54-00-BC-00-01,,3600,{LATER},1,0,0,a&#x2cb,0,
10.0.0.6,52:54:00:bc
"""
ANSWER = f"""[{{"result": 0, "text": "2 IPv4 lease(s) found.", "arguments": {{"leases": [
  {{"ip-address": "10.0.0.1", "hw-address": "{MAC}", "hostname": "a,b", "state": 0, "cltt": {EARLIER},
    "valid-lft": 7200, "subnet-id": 1}},
  {{"ip-address": "10.0.0.2", "hw-address": "52:54:00:bc:00:02", "state": 2, "cltt": {EARLIER}, "valid-lft": 7200}},
  {{"ip-address": "10.0.0.4", "hw-address": "52:54:00:bc:00:04", "hostname": "idrac-abc1234", "state": 0,
    "cltt": 0, "valid-lft": 4294967295}},
  {{"ip-address": "10.0.0.6"}}]}}}}]"""
DNSMASQ = f"""{EARLIER} 52:54:00:bc:00:02 10.0.0.2 * 01:52:54:00:bc:00:02
{LATER} {MAC} 10.0.0.1 a,b *
0 06-52:54:00:bc:00:04 10.0.0.4 idrac-abc1234 *
{LATER} 52:54
duid 00:01:00:01:2c:4e
{EARLIER} 5487 fd00::5 * 00:03:00:01
"""
DHCPD = f"""# The format of this file is documented in the dhcpd.leases(5) manual page.
authoring-byte-order little-endian;
lease 10.0.0.1 {{
  starts 1 2026/11/30 09:00:00;
  ends 1 2026/11/30 11:00:00;
  binding state active;
  hardware ethernet 52:54:00:bc:00:99;
}}
lease 10.0.0.2 {{ ends never; binding state free; next binding state active; hardware ethernet 52:54:00:bc:00:02; }}
lease 10.0.0.4 {{
  ends never;
  binding state active;
  next binding state free;
  hardware ethernet 52:54:00:bc:00:04;
  client-hostname "idrac-abc1234";
  on expiry {{ set note = "}} ; {{"; }}
}}
lease 10.0.0.1 {{
  ends epoch {LATER}; # Mon Nov 30 13:00:00 2026
  binding state active;
  hardware ethernet {MAC};
  client-hostname "a,b";
}}
lease 10.0.0.6 {{
  starts 1 2026/11/30 09:00:00;
"""


@pytest.mark.parametrize(
    ("text", "kind", "bad"),
    [
        (KEA, "Kea lease file", 1),
        (ANSWER, "answer of Kea's lease commands", 1),
        (DNSMASQ, "dnsmasq lease file", 1),
        (DHCPD, "ISC dhcpd lease file", 1),
    ],
    ids=["kea", "answer", "dnsmasq", "dhcpd"],
)
def test_every_format_gives_the_leases_that_hold_with_mac_and_name(text: str, kind: str, bad: int) -> None:
    found = read_leases(text)
    assert found is not None
    assert (found.kind, len(found.bad)) == (kind, bad)
    valid = {lease.address: (lease.mac, lease.hostname) for lease in found.valid_at(NOW)}
    assert valid == {"10.0.0.1": (MAC, "a,b"), "10.0.0.4": ("52:54:00:bc:00:04", "idrac-abc1234")}


def test_an_ipv6_lease_of_kea_is_read_and_a_delegated_prefix_is_not() -> None:
    text = (
        "address,duid,valid_lifetime,expire,subnet_id,pref_lifetime,lease_type,iaid,prefix_len,fqdn_fwd,fqdn_rev,"
        "hostname,hwaddr,state,user_context\n"
        f"fd00::11,00:03,3600,{LATER},1,1800,0,7,128,0,0,,{MAC},0,\n"
        f"fd00:1::,00:03,3600,{LATER},1,1800,2,8,56,0,0,,{MAC},0,\n"
    )
    found = read_leases(text)
    assert found is not None
    assert [(lease.address, lease.mac) for lease in found.valid_at(NOW)] == [("fd00::11", MAC)]


def test_the_file_says_what_it_is_and_what_was_left_out(tmp_path: Path) -> None:
    path = tmp_path / "leases"
    path.write_text(KEA)
    listed = targets_of([str(path)], 443, NOW)
    assert listed.notes[0] == (
        f"{path}: Kea lease file: 5 leases, 2 to look at, 3 expired or given back, 1 entry replaced by later ones"
    )
    assert listed.notes[1].startswith(f"{path}: line 8: ")
    assert [(target.key, target.mac, target.is_named) for target in listed.targets] == [
        ("10.0.0.4:443", "52:54:00:bc:00:04", False),
        ("10.0.0.1:443", MAC, False),
    ]


def test_a_host_that_is_also_leased_keeps_its_mac_and_stays_named(tmp_path: Path) -> None:
    path = tmp_path / "leases"
    path.write_text(DNSMASQ)
    listed = targets_of(["10.0.0.1"], 443, NOW, lease_files=[path])
    assert ("10.0.0.1:443", MAC, True) in [(item.key, item.mac, item.is_named) for item in listed.targets]


def test_a_file_of_hosts_is_no_lease_file(tmp_path: Path) -> None:
    path = tmp_path / "hosts"
    path.write_text("10.0.0.1\nbmc-1.example.net  # row a\n10.0.0.0/30\n")
    assert read_leases(path.read_text()) is None
    with pytest.raises(UsageError, match="no lease file that metalwright knows"):
        targets_of([], 443, NOW, lease_files=[path])


@settings(deadline=None)
@given(st.sampled_from([KEA, ANSWER, DNSMASQ, DHCPD]), st.data())
def test_a_damaged_file_never_breaks_the_reader(text: str, data: st.DataObject) -> None:
    """Cut anywhere, with some characters replaced: read in part, or not recognised, and never an exception."""
    at = data.draw(st.integers(0, len(text)))
    broken = text[:at] + data.draw(st.text(max_size=8)) + text[data.draw(st.integers(at, len(text))) :]
    found = read_leases(broken)
    assert found is None or all(lease.address for lease in found.leases)
