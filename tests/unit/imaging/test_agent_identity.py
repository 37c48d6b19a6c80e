"""Who a machine is, and when it is the declared one."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metalwright.imaging.agent.failures import AgentError
from metalwright.imaging.agent.identity import check_identity, read_identity, uuid_forms
from metalwright.imaging.agent.records import Expect, Identity
from metalwright.imaging.identity_check import find_mismatches
from metalwright.model.agent_protocol import BootIdentity, ExpectedIdentity

TEXTS = st.one_of(st.none(), st.sampled_from(["", "A", "B", "4c4c4544-0042-3310-8052-b4c04f4e3432"]))
MACS = st.lists(st.sampled_from(["52:54:00:00:00:01", "52:54:00:00:00:02"]), max_size=2).map(tuple)
KEYS = st.lists(st.sampled_from(["serial", "uuid", "macs"]), min_size=1, max_size=3, unique=True).map(tuple)


@given(st.uuids())
def test_both_byte_orders_are_one_uuid(value: uuid.UUID) -> None:
    swapped = str(uuid.UUID(bytes_le=value.bytes))
    assert uuid_forms(str(value).upper()) == uuid_forms(swapped)


@pytest.mark.parametrize("text", [None, "", "Not Specified", "4c4c4544"])
def test_what_is_no_uuid_agrees_with_nothing(text: str | None) -> None:
    assert uuid_forms(text) == frozenset()


@given(KEYS, TEXTS, TEXTS, MACS, TEXTS, TEXTS, MACS)
def test_agent_and_server_judge_alike(
    keys: tuple[str, ...], serial: str | None, uid: str | None, macs: tuple[str, ...],
    found_serial: str | None, found_uuid: str | None, found_macs: tuple[str, ...],
) -> None:  # fmt: skip
    try:
        check_identity(Identity(found_serial, found_uuid, found_macs), Expect(keys, serial, uid, macs))
        does_agree = True
    except AgentError:
        does_agree = False
    expected = ExpectedIdentity.model_validate({"keys": keys, "serial": serial, "uuid": uid, "macs": macs})
    found = BootIdentity(serial=found_serial, uuid=found_uuid, macs=found_macs)
    assert does_agree == (find_mismatches(expected, found) == ())


def test_unknown_never_agrees_with_unknown() -> None:
    with pytest.raises(AgentError, match="serial, uuid, macs differs"):
        check_identity(Identity(None, None, ()), Expect(("serial", "uuid", "macs"), None, None, ()))


def test_no_declared_key_is_an_error() -> None:
    with pytest.raises(AgentError, match="no identity key"):
        check_identity(Identity("A", None, ()), Expect((), "A", None, ()))


def test_identity_is_read_from_smbios_and_real_ports(tmp_path: Path) -> None:
    for name, text in {
        "class/dmi/id/product_serial": "SN-1\n",
        "class/dmi/id/product_uuid": "4c4c4544-0042-3310-8052-b4c04f4e3432\n",
        "class/net/eth0/address": "52:54:00:AA:00:01\n",
        "class/net/eth0/type": "1\n",
        "class/net/eth0/device/vendor": "0x1af4\n",
        "class/net/ib0/address": "80:00:02:08:fe:80:00:00:00:00:00:00:e4:1d:2d:03:00:1c:2d:21\n",
        "class/net/ib0/type": "32\n",
        "class/net/ib0/device/vendor": "0x15b3\n",
        "class/net/lo/address": "00:00:00:00:00:00\n",
        "class/net/lo/type": "772\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    expected = Identity("SN-1", "4c4c4544-0042-3310-8052-b4c04f4e3432", ("52:54:00:aa:00:01",))
    assert read_identity(tmp_path) == expected
