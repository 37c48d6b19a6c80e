from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.redfish.player import answer, make_state, refusal

from metalwright.errors import BmcRefusedError
from metalwright.redfish.adaptations import adapt, merged, opposite
from metalwright.redfish.dialogue import write
from metalwright.redfish.wire import Outcome, Request, Send

SYSTEM = "/redfish/v1/Systems/Self"
INSERT = "/redfish/v1/Managers/1/VirtualMedia/CD1/Actions/VirtualMedia.InsertMedia"


@pytest.mark.parametrize(
    ("request_", "refused", "path", "body"),
    [
        pytest.param(
            Request("PATCH", SYSTEM, {"Boot": {"BootSourceOverrideTarget": "Cd"}}),
            refusal(400, "Ami.1.0.OperationSupportedInFutureStateURI"),
            f"{SYSTEM}/SD",
            {"Boot": {"BootSourceOverrideTarget": "Cd"}},
            id="future-state",
        ),
        pytest.param(
            Request("POST", INSERT, {"Image": "https://10.0.0.1/i.iso"}),
            refusal(400, "Base.1.12.ActionParameterMissing", "VirtualMedia.InsertMedia", "TransferProtocolType"),
            INSERT,
            {"Image": "https://10.0.0.1/i.iso", "TransferProtocolType": "HTTPS"},
            id="parameter-missing",
        ),
        pytest.param(
            Request("POST", INSERT, {"Image": "http://10.0.0.1/i.iso", "Inserted": True, "WriteProtected": True}),
            refusal(400, "Base.1.8.ActionParameterUnknown", "Inserted"),
            INSERT,
            {"Image": "http://10.0.0.1/i.iso", "WriteProtected": True},
            id="parameter-unknown",
        ),
        pytest.param(
            Request("PATCH", SYSTEM, {"Boot": {"BootSourceOverrideTarget": "Cd", "BootSourceOverrideMode": "UEFI"}}),
            refusal(400, "Base.1.8.PropertyNotWritable", "BootSourceOverrideMode"),
            SYSTEM,
            {"Boot": {"BootSourceOverrideTarget": "Cd"}},
            id="mode-not-wanted",
        ),
        pytest.param(
            Request("PATCH", SYSTEM, {"Boot": {"BootSourceOverrideTarget": "Cd"}}),
            refusal(400, "Base.1.8.PropertyMissing", "BootSourceOverrideMode"),
            SYSTEM,
            {"Boot": {"BootSourceOverrideTarget": "Cd", "BootSourceOverrideMode": "UEFI"}},
            id="mode-wanted",
        ),
        pytest.param(
            Request(
                "PATCH", SYSTEM, {"Boot": {"BootSourceOverrideTarget": "None", "BootSourceOverrideEnabled": "Disabled"}}
            ),
            refusal(400, "Base.1.8.PropertyValueNotInList", "None", "BootSourceOverrideTarget"),
            SYSTEM,
            {"Boot": {"BootSourceOverrideEnabled": "Disabled"}},
            id="target-none",
        ),
        pytest.param(
            Request("PATCH", "/b", {"Attributes": {"A": 1}, "@Redfish.SettingsApplyTime": {"ApplyTime": "OnReset"}}),
            refusal(400, "Base.1.8.PropertyUnknown", "@Redfish.SettingsApplyTime"),
            "/b",
            {"Attributes": {"A": 1}},
            id="apply-time",
        ),
    ],
)
def test_a_refused_write_is_given_the_form_that_the_bmc_wants(
    request_: Request, refused: Any, path: str, body: dict[str, Any]
) -> None:
    other = adapt(request_, refused)
    assert other is not None
    assert (other.path, other.body) == (path, body)


@pytest.mark.parametrize("status", [400, 403, 500])
def test_a_refusal_that_says_nothing_is_not_answered_by_guessing(status: int) -> None:
    assert adapt(Request("POST", INSERT, {"Image": "x"}), answer(status, {"error": {"message": "no"}})) is None
    assert adapt(Request("DELETE", "/a"), refusal(status, "Base.1.8.PropertyUnknown", "a")) is None


def test_a_bmc_that_is_never_content_is_asked_three_times_at_most() -> None:
    state, play = make_state()
    wanted = iter(["TransferProtocolType", "TransferMethod", "MediaType", "Inserted", "WriteProtected"])

    def bmc(step: Send) -> Outcome:
        del step
        return refusal(400, "Base.1.12.ActionParameterMissing", next(wanted))

    with pytest.raises(BmcRefusedError):
        play.run(write(state, Request("POST", INSERT, {"Image": "http://h/i.iso"}, is_authenticated=False)), bmc)
    assert len(play.sent) == 3


def test_the_adapted_write_counts() -> None:
    state, play = make_state()
    script = [
        answer(200, {}),
        refusal(400, "Base.1.8.PropertyMissing", "BootSourceOverrideMode"),
        answer(200, {}),
        answer(204),
    ]
    request = Request("PATCH", SYSTEM, {"Boot": {"BootSourceOverrideTarget": "Cd"}}, is_authenticated=False)
    assert play.run(write(state, request), script).status == 204


def test_what_one_bmc_taught_is_said_at_once_to_the_next_of_its_platform() -> None:
    state, play = make_state()
    request = Request("POST", INSERT, {"Image": "http://h/i.iso"}, is_authenticated=False)
    wants = refusal(400, "Base.1.12.ActionParameterMissing", "VirtualMedia.InsertMedia", "TransferProtocolType")
    play.run(write(state, request), [wants, answer(204)])
    other, again = make_state(forms=state.forms)
    again.run(write(other, request), [answer(204)])
    assert again.sent[0].body == {"Image": "http://h/i.iso", "TransferProtocolType": "HTTP"}


def test_a_form_that_another_bmc_of_the_platform_refuses_gives_way_to_the_plain_one() -> None:
    state, play = make_state()
    state.forms.keep("node-1", ["future-state"])
    request = Request("PATCH", SYSTEM, {"Boot": {"BootSourceOverrideTarget": "Cd"}}, is_authenticated=False)
    play.run(write(state, request), [answer(404), answer(404), answer(200, {}), answer(204)])
    assert [(step.method, step.target) for step in play.sent][-1] == ("PATCH", SYSTEM)
    assert len(play.sent) == 4


@given(st.lists(st.sampled_from(["boot+mode", "boot-mode", "media+MediaType", "media-MediaType", "future-state"])))
def test_a_form_and_its_contrary_are_never_kept_together(names: list[str]) -> None:
    kept = merged((), names)
    assert len(set(kept)) == len(kept)
    assert not any(opposite(name) in kept for name in kept if "+" in name)
    assert not names or kept[-1] == names[-1]
