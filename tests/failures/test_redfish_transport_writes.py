"""Writes that BMCs refuse, take in part, or carry out without an answer: one pyinfra run over all of them.

Each BMC has the fault of its entry; all are written at once, so that none may disturb another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import pytest
from tests.failures.transport_bmcs import bmc, command, deploy, lines_of, rule
from tests.operations.redfish.site import PyinfraRun

from metalwright.simulator.running import RunningService

SYSTEM = "/redfish/v1/Systems/1"
TAGGED = command("PATCH", "@system", {"AssetTag": "rack-7"})
RESET = command("POST", f"{SYSTEM}/Actions/ComputerSystem.Reset", {"ResetType": "On"})
EJECT = command("POST", f"{SYSTEM}/VirtualMedia/Cd/Actions/VirtualMedia.EjectMedia", {})
DEFAULTS = command("POST", f"{SYSTEM}/Bios/Actions/Bios.ResetBios", {})
PROTOCOLS = {"SSH": {"ProtocolEnabled": False}, "IPMI": {"ProtocolEnabled": False}}
CLOSE = [
    command("PATCH", "@manager/NetworkProtocol", PROTOCOLS),
    command("EXPECT", "@manager/NetworkProtocol", PROTOCOLS, "--within", "1"),
]
GZIP = {"Accept-Encoding": "gzip"}
NOT_WRITABLE = {"IPMI@Message.ExtendedInfo": [{"MessageId": "Base.1.8.PropertyNotWritable", "Message": "read only"}]}


def tagged(**words: Any) -> Callable[[RunningService], None]:
    return lambda service: rule(service, None, "Systems/1$", tag={"required": True, **words})


def compressed(service: RunningService) -> None:
    rule(service, None, "Systems/1$", when={"header_not": GZIP}, tag={"header": '"17"', "body": None, "accept": '"17"'})
    rule(service, None, "Systems/1$", when={"header": GZIP}, tag={"header": 'W/"17"', "body": None, "accept": None})


def unconditional_refused(service: RunningService) -> None:
    no_condition = {"header": {"If-Match": None}}
    rule(service, "PATCH", "Systems/1$", when=no_condition, status=428, message="Base.1.8.PreconditionRequired")


def refused_with_an_object(service: RunningService) -> None:
    info = {"MessageId": "Base.1.0.ActionNotSupported", "Message": "not while the lid is open"}
    error = {"code": "Base.1.0.GeneralError", "message": "no", "@Message.ExtendedInfo": info}
    rule(service, "POST", "Reset$", status=400, body={"error": error})


def without_answer(service: RunningService) -> None:
    rule(service, "POST", "Reset$", times=1, close="after")


def partly(service: RunningService) -> None:
    rule(service, "PATCH", "NetworkProtocol$", request=[{"at": "/IPMI", "drop": True}])


def partly_and_says_so(service: RunningService) -> None:
    partly(service)
    body = {**NOT_WRITABLE, "SSH": {"ProtocolEnabled": False}}
    rule(service, "PATCH", "NetworkProtocol$", status=200, body=body, effect=True)


def wants_a_body(service: RunningService) -> None:
    rule(service, "POST", "EjectMedia$", when={"body_not": r"^\s*\{"}, status=415)
    rule(service, "POST", "ResetBios$", when={"body_not": r"^\s*\{\s*\}\s*$"}, status=400)


CASES: Mapping[str, tuple[Callable[[RunningService], None], Mapping[str, Any]]] = {
    "weak as received": (tagged(header='W/"17"', body=None, accept='W/"17"'), {"commands": [TAGGED]}),
    "weak, wants strong": (tagged(header='W/"17"', body=None, accept='"17"'), {"commands": [TAGGED]}),
    "compressed": (compressed, {"commands": [TAGGED]}),
    "quoted twice": (tagged(header='"\\"abc\\""', body='"abc"', accept='"abc"'), {"commands": [TAGGED]}),
    "never accepted": (tagged(header='"h1"', body='"b2"', accept='"never"'), {"commands": [TAGGED]}),
    "condition demanded": (unconditional_refused, {"commands": [TAGGED]}),
    "no tag": (tagged(header=None, body=None, accept=None, required=False), {"commands": [TAGGED]}),
    "moving": (tagged(header='"{n}"', body='"{n}"', accept='"{n}"', bump=1), {"commands": [TAGGED]}),
    "twice": (tagged(header=['"A1"', '"A1"'], body=None, accept='"A1"'), {"commands": [TAGGED]}),
    "object": (refused_with_an_object, {"commands": [RESET]}),
    "no answer": (without_answer, {"act": "power on"}),
    "partly": (partly, {"commands": CLOSE}),
    "partly, says so": (partly_and_says_so, {"commands": CLOSE}),
    "body": (wants_a_body, {"commands": [EJECT, DEFAULTS]}),
}


@dataclass
class Written:
    """The BMCs by the name of their case, after the run."""

    run: PyinfraRun
    bmcs: Mapping[str, RunningService]

    def patches(self, case: str) -> list[str | None]:
        """The If-Match of each PATCH of the system."""
        return [record.headers.get("If-Match") for record in self.bmcs[case].traffic.of("PATCH", "Systems/1")]

    def is_tagged(self, case: str) -> bool:
        """Whether the asset tag is there."""
        return self.bmcs[case].system.state.asset_tag == "rack-7"

    def lines(self, case: str) -> str:
        """What pyinfra said about it."""
        return lines_of(self.run, self.bmcs[case])


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Written]:
    with ExitStack() as stack:
        bmcs = {name: stack.enter_context(bmc()) for name in CASES}
        for name, (misbehave, _) in CASES.items():
            misbehave(bmcs[name])
        hosts = [(bmcs[name], data) for name, (_, data) in CASES.items()]
        yield Written(deploy(tmp_path_factory.mktemp("writes"), hosts, "-v"), bmcs)


@pytest.mark.parametrize("case", ["weak as received", "weak, wants strong", "compressed"])
def test_rt_01_a_weak_tag_is_sent_back_in_the_form_that_the_bmc_takes(written: Written, case: str) -> None:
    """Bodies are asked for uncompressed; the tag goes back as it came, and after a 412 once in its other form."""
    assert written.is_tagged(case), written.lines(case)
    assert len(written.patches(case)) <= 2


def test_rt_02_the_tag_of_the_body_is_tried_after_a_header_quoted_twice(written: Written) -> None:
    """After a 412 the body's `@odata.etag` is tried; when nothing fits, the error tells every tag that was sent."""
    assert written.is_tagged("quoted twice"), written.lines("quoted twice")
    assert len(written.patches("quoted twice")) <= 2


def test_rt_02_every_tag_that_was_tried_is_told_when_none_is_accepted(written: Written) -> None:
    assert not written.is_tagged("never accepted")
    assert written.patches("never accepted") == ['"h1"', '"b2"', 'W/"h1"']
    said = written.lines("never accepted")
    assert "HTTP 412" in said
    for tag in ('"h1"', '"b2"', 'W/"h1"'):
        assert f"If-Match: {tag}" in said


def test_rt_03_the_tag_is_read_just_before_each_write(written: Written) -> None:
    """The target's tag is read just before each PATCH and sent; where a resource has none, no condition is sent."""
    assert written.is_tagged("condition demanded"), written.lines("condition demanded")
    assert len(written.patches("condition demanded")) == 1


def test_rt_03_no_condition_is_sent_where_there_is_no_tag(written: Written) -> None:
    assert written.is_tagged("no tag"), written.lines("no tag")
    assert written.patches("no tag") == [None]


def test_rt_04_a_tag_that_moved_meanwhile_is_read_again_and_the_same_change_repeated(written: Written) -> None:
    """The tag is read again and the same change sent, three times at most; never without a condition."""
    assert written.is_tagged("moving"), written.lines("moving")
    assert len(written.patches("moving")) == 2
    assert None not in written.patches("moving")


def test_rt_05_a_repeated_header_is_one_tag(written: Written) -> None:
    """Equal repeats of the header are one tag; where they differ, the body's `@odata.etag` counts."""
    assert written.is_tagged("twice"), written.lines("twice")
    assert written.patches("twice") == ['"A1"']


def test_rt_06_the_message_is_shown_in_whatever_shape_it_comes(written: Written) -> None:
    """Messages are taken from an object, a list or nothing; status, method, path and the BMC's words are shown."""
    said = written.lines("object")
    assert "Base.1.0.ActionNotSupported not while the lid is open" in said
    assert "HTTP 400" in said
    assert f"POST {written.bmcs['object'].url}{SYSTEM}/Actions/ComputerSystem.Reset" in said
    assert "Traceback" not in written.run.text


def test_rt_13_a_reset_without_answer_is_sent_once_and_proven_by_reading(written: Written) -> None:
    """Reads and logins are sent again on a fresh connection; a write is not: the state of the machine tells."""
    machine = written.bmcs["no answer"]
    assert len(machine.traffic.of("POST", "ComputerSystem.Reset")) == 1
    assert len(machine.system.log.of_kind("ResetRequested")) == 1
    assert machine.system.power_state == "On"
    assert "Success" in written.lines("no answer")


@pytest.mark.parametrize("case", ["partly", "partly, says so"])
def test_rt_21_what_was_not_taken_is_named_and_nothing_else(written: Written, case: str) -> None:
    """Every property that was written is read back; the step fails naming those not taken, and what the BMC said."""
    said = written.lines(case)
    assert "does not show it" in said
    assert "expected: IPMI/ProtocolEnabled = False" in said
    assert "SSH/" not in said
    assert ("Base.1.8.PropertyNotWritable" in said) == (case == "partly, says so")


def test_rt_24_an_action_without_parameters_carries_an_empty_object(written: Written) -> None:
    """Every action has a JSON body, `{}` where it takes no parameters."""
    traffic = written.bmcs["body"].traffic
    assert [record.status // 100 for record in traffic.of("POST", "EjectMedia") + traffic.of("POST", "ResetBios")] == [
        2,
        2,
    ]


def test_every_refusal_fails_its_own_host_only_and_no_session_is_left(written: Written) -> None:
    failing = {"never accepted", "object", "partly", "partly, says so"}
    assert written.run.code == 1
    assert {name for name in CASES if "Error" in written.lines(name)} == failing
    assert sum(service.bmc.gate.open_sessions for service in written.bmcs.values()) == 0
