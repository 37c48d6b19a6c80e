from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.unit.redfish.player import answer, make_state, refusal

from metalwright.errors import BmcAnswerError, RedfishError
from metalwright.redfish.links import NOUNS, Declared, Topology, find, locate
from metalwright.redfish.wire import Outcome, Send


def link(uri: str) -> dict[str, str]:
    return {"@odata.id": uri}


def bmc() -> dict[str, Any]:
    """A box with a host, a GPU baseboard, and odd places for everything."""
    boot = {"Boot": {"BootSourceOverrideTarget": "None"}, "Actions": {"#ComputerSystem.Reset": {"target": "/r"}}}
    return {
        "/redfish/v1/": {"Systems": link("/s"), "Managers": link("/m"), "Registries": link("/reg")},
        "/s": {"Members": [link("/s/HGX"), link("/s/DGX")], "Members@odata.count": 2},
        "/s/HGX": {"@odata.id": "/s/HGX", "UUID": "x", "SerialNumber": "B1"},
        "/s/DGX": {
            "@odata.id": "/s/DGX",
            "UUID": "33221100-5544-7766-8899-AABBCCDDEEFF",
            "SerialNumber": "H1",
            "Bios": link("/s/DGX/Bios"),
            "VirtualMedia": link("/vm"),
            "Links": {"ManagedBy": [link("/m/Host"), link("/m/BMC")]},
            "@Redfish.Settings": {"SettingsObject": link("/s/DGX/SD")},
            **boot,
        },
        "/s/DGX/SD": {"Boot": {"BootSourceOverrideTarget": "None"}},
        "/s/DGX/Bios": {"Attributes": {"A": 1}, "AttributeRegistry": "BiosReg.1.0.0"},
        "/s/DGX/Bios/SD": {"Attributes": {"A": 2}},
        "/m/Host": {"ManagerType": "AuxiliaryController"},
        "/m/BMC": {"ManagerType": "BMC", "NetworkProtocol": link("/m/BMC/NP")},
        "/vm": {"Members": [link("/vm/1"), link("/vm/2")]},
        "/vm/1": {"Id": "1"},
        "/reg": {"Members": [link("/reg/Base.1.0.0"), link("/reg/BiosReg.1.0.0")]},
        "/reg/BiosReg.1.0.0": {"Location": [{"Language": "de", "Uri": "/de"}, {"Language": "en", "Uri": "/en"}]},
        "/en": {"RegistryEntries": {}},
    }


def ask(expression: str, declared: Declared | None = None, changes: dict[str, Any] | None = None) -> Any:
    resources = bmc() | (changes or {})
    state, play = make_state()

    def serve(step: Send) -> Outcome:
        body = resources.get(step.target)
        return refusal(404, "Base.1.8.ResourceMissingAtURI") if body is None else answer(200, body)

    return play.run(find(state, Topology(declared or Declared()), expression), serve)


@pytest.mark.parametrize(
    ("expression", "uri"),
    [
        ("@system", "/s/DGX"),
        ("@system/Bios", "/s/DGX/Bios"),
        ("@bios-settings", "/s/DGX/Bios/SD"),
        ("@system-settings", "/s/DGX/SD"),
        ("@manager", "/m/BMC"),
        ("@media", "/vm"),
        ("@bios-registry", "/en"),
        ("/s/HGX", "/s/HGX"),
    ],
)
def test_resources_are_found_by_links_wherever_they_lie(expression: str, uri: str) -> None:
    assert ask(expression).uri == uri


@pytest.mark.parametrize(
    "declared",
    [
        Declared(serial="B1"),
        Declared(serial="other", uuid="00000000-0000-0000-0000-000000000001"),
        Declared(uuid="00112233-4455-6677-8899-aabbccddeeff"),
    ],
)
def test_the_declared_system_is_the_host_else_the_one_that_boots(declared: Declared) -> None:
    wanted = "/s/HGX" if declared.serial == "B1" else "/s/DGX"
    assert ask("@system", declared).uri == wanted


def test_two_systems_that_boot_are_not_guessed_between() -> None:
    twin = bmc()["/s/DGX"] | {"@odata.id": "/s/HGX", "SerialNumber": "H2", "UUID": "y"}
    with pytest.raises(BmcAnswerError, match="cannot tell which system"):
        ask("@system", changes={"/s/HGX": twin})
    assert ask("@system", Declared(serial="H2"), {"/s/HGX": twin}).uri == "/s/HGX"


def test_a_member_that_is_gone_does_not_hide_the_others() -> None:
    value = ask("@media/*").value
    assert value["Members"] == [{"Id": "1"}]
    assert "/vm/2" in value["problems"][0]


def test_settings_without_boot_are_not_written_for_boot() -> None:
    assert ask("@system-settings", changes={"/s/DGX/SD": {"Id": "SD"}}).uri == "/s/DGX"


def test_what_is_not_offered_is_named_with_the_resource_where_the_way_ends() -> None:
    with pytest.raises(BmcAnswerError) as caught:
        ask("@system/SecureBoot")
    assert "the BMC does not offer SecureBoot" in str(caught.value)
    assert "/s/DGX" in str(caught.value)


def test_a_plain_uri_is_located_without_asking_the_bmc() -> None:
    state, play = make_state()
    assert play.run(locate(state, Topology(), "/redfish/v1/x"), []) == "/redfish/v1/x"
    assert play.sent == []


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4) | st.sampled_from(["/s", "/s/DGX", "/m", ""]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["@odata.id", "Members", "Systems", "Links", "ManagedBy", "Bios", "Location", "Uri", "Boot"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@settings(deadline=None)
@given(
    st.sampled_from([*(f"@{noun}" for noun in sorted(NOUNS)), "@system/Storage/*/Drives/*", "@root/Systems/*/Bios"]),
    st.dictionaries(st.sampled_from(sorted(bmc())), JSON, max_size=6),
)
@example("@system", {"/redfish/v1/": {"Systems": False}})
def test_no_shape_of_answers_crashes_the_walk(expression: str, changes: dict[str, Any]) -> None:
    with suppress(RedfishError):
        ask(expression, changes=changes)
