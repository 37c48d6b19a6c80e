from __future__ import annotations

import re
import ssl
from collections.abc import Callable, Iterable
from contextlib import suppress
from itertools import cycle
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.redfish.player import Play, answer, make_state, refusal

from metalwright.errors import (
    BmcAnswerError,
    BmcCertificateError,
    BmcNoAnswerError,
    BmcRefusedError,
    BmcTlsError,
    BmcUnreachableError,
    RedfishError,
)
from metalwright.redfish import Credentials, MemoryPins
from metalwright.redfish.collections import list_members
from metalwright.redfish.dialogue import bounded, perform, read, write
from metalwright.redfish.pinning import ensure_pin, handshake_failure
from metalwright.redfish.policy import transact
from metalwright.redfish.sessions import ensure_session
from metalwright.redfish.state import BmcState, Limits
from metalwright.redfish.wire import Exchange, FailureKind, Outcome, Request, Response, Send, TransportFailure

GET = Request("GET", "/redfish/v1/Systems/1", is_authenticated=False)
POST = Request("POST", "/redfish/v1/Systems/1/Actions/ComputerSystem.Reset", {"ResetType": "On"}, False)
CLOSED = TransportFailure(FailureKind.CLOSED, "reset by peer")


def ssl_error(reason: str) -> ssl.SSLError:
    error = ssl.SSLError(1, f"[SSL: {reason}]")
    error.reason = reason
    return error


def test_a_read_is_repeated_while_the_bmc_is_busy() -> None:
    state, play = make_state()
    html = Response(504, (("content-type", "text/html"),), b"<html>gateway</html>")
    got = play.run(transact(state, GET), [html, html, answer(200, {"Id": "1"})])
    assert got.json_object() == {"Id": "1"}
    assert play.slept == [0.5, 1.0]


def test_the_read_budget_belongs_to_the_request_not_to_the_client() -> None:
    state, play = make_state()
    for _ in range(20):
        assert play.run(perform(state, GET), [answer(503), answer(200, {})]).status == 200


def test_retry_after_is_obeyed_up_to_the_limit() -> None:
    state, play = make_state()
    play.run(transact(state, GET), [answer(503, None, retry_after="7"), answer(503, None, retry_after="900"), answer()])
    assert play.slept == [7.0, 60.0]


def test_a_write_is_not_repeated_when_the_bmc_fails() -> None:
    state, play = make_state()
    with pytest.raises(BmcRefusedError) as caught:
        play.run(perform(state, POST), [answer(500, {"error": {"code": "x", "message": "boom"}})])
    assert caught.value.status == 500
    assert len(play.sent) == 1


def test_a_write_is_repeated_when_the_bmc_says_that_it_was_not_ready() -> None:
    state, play = make_state()
    done = play.run(
        perform(state, POST), [refusal(503, "IDRAC.2.8.SYS518"), refusal(503, "IDRAC.2.8.SYS518"), answer(204)]
    )
    assert (done.status, len(play.sent)) == (204, 3)


def test_a_write_without_answer_is_neither_repeated_nor_called_failed() -> None:
    state, play = make_state()
    with pytest.raises(BmcNoAnswerError, match="may have taken effect"):
        play.run(perform(state, POST), [CLOSED])
    assert len(play.sent) == 1


def test_a_first_contact_that_is_refused_is_not_repeated() -> None:
    state, play = make_state()
    with pytest.raises(BmcUnreachableError):
        play.run(perform(state, GET), [TransportFailure(FailureKind.CONNECT, "connection refused")])
    assert len(play.sent) == 1


def test_a_bmc_that_answered_before_is_given_time_to_come_back() -> None:
    state, play = make_state(has_answered=True)
    refused = TransportFailure(FailureKind.CONNECT, "connection refused")
    assert play.run(perform(state, GET), [refused, refused, answer(200, {})]).status == 200


def test_connections_that_break_twice_are_no_longer_reused() -> None:
    state, play = make_state()
    play.run(perform(state, GET), [CLOSED, CLOSED, answer(200, {})])
    assert "Connection" not in play.sent[1].headers
    assert play.sent[2].headers["Connection"] == "close"


def test_a_changed_certificate_ends_it_at_once() -> None:
    state, play = make_state(has_answered=True)
    with pytest.raises(BmcCertificateError) as caught:
        play.run(perform(state, GET), [TransportFailure(FailureKind.CERTIFICATE, "sha256 ab")])
    assert "no credential was sent" in str(caught.value)


def test_identity_encoding_is_asked_for_and_gzip_only_on_demand() -> None:
    state, play = make_state()
    play.run(perform(state, GET), [answer(406), answer(200, {})])
    play.run(perform(state, GET), [answer(200, {})])
    assert [step.headers["Accept-Encoding"] for step in play.sent] == ["identity", "gzip", "gzip"]


def test_a_redirect_on_the_same_host_keeps_method_and_body() -> None:
    state, play = make_state()
    play.run(perform(state, POST), [answer(308, None, location=POST.path + "/"), answer(204)])
    assert [(s.method, s.target, s.body) for s in play.sent][1] == ("POST", POST.path + "/", POST.body)


def test_a_redirect_to_another_port_of_the_same_host_is_followed_over_https() -> None:
    state, play = make_state()
    play.run(perform(state, GET), [answer(301, None, location="https://10.0.0.1:8080/redfish/v1/x"), answer(200, {})])
    assert play.sent[1].target == "https://10.0.0.1:8080/redfish/v1/x"


@pytest.mark.parametrize(
    "location", ["http://10.0.0.1/redfish/v1/", "https://other.example/", "//other.example/x", "https://u@10.0.0.1/x"]
)
def test_a_redirect_elsewhere_or_to_http_is_not_followed(location: str) -> None:
    state, play = make_state()
    with pytest.raises(BmcAnswerError, match="another host or protocol"):
        play.run(perform(state, POST), [answer(301, None, location=location)])
    assert len(play.sent) == 1


def test_a_link_to_another_host_is_not_followed() -> None:
    state, play = make_state()
    with pytest.raises(BmcAnswerError, match="another host"):
        play.run(read(state, "https://other.example/redfish/v1/Systems"), [])
    assert play.sent == []


def test_nothing_outlasts_the_deadline() -> None:
    state, play = make_state(limits=Limits(deadline_s=5))
    state.expires_at = play.clock.now + 5
    with pytest.raises(RedfishError):
        play.run(perform(state, GET), lambda _: answer(503, None, retry_after="3"))
    assert sum(play.slept) <= 5
    assert all(step.read_timeout_s <= 5 for step in play.sent)


def test_slow_resources_have_their_own_time() -> None:
    state, play = make_state()
    play.run(read(state, "/redfish/v1/UpdateService/FirmwareInventory"), [answer(200, {})])
    assert play.sent[0].read_timeout_s == 180


@pytest.mark.parametrize("body", [b'"busy"', b"null", b"[]", b"", b"<html>x</html>", b"\xff\xfe"])
def test_any_body_of_a_server_error_gives_the_same_typed_error(body: bytes) -> None:
    state, play = make_state()
    with pytest.raises(BmcRefusedError) as caught:
        play.run(read(state, GET.path), lambda _: Response(500, (("content-type", "application/json"),), body))
    assert caught.value.status == 500
    assert "GET https://10.0.0.1:443/redfish/v1/Systems/1" in str(caught.value)


def test_a_login_page_is_not_taken_for_data() -> None:
    state, play = make_state()
    with pytest.raises(BmcAnswerError) as caught:
        play.run(read(state, GET.path), [Response(200, (("content-type", "text/html"),), b"<html>login</html>")])
    assert "text/html: login" in str(caught.value)
    assert len(play.sent) == 1


@pytest.mark.parametrize(
    "info", [{"MessageId": "Base.1.0.ActionNotSupported", "Message": "no"}, None, [], "text", [None]]
)
def test_extended_info_of_any_shape_never_hides_the_refusal(info: object) -> None:
    state, play = make_state()
    body = {"error": {"code": "Base.1.0.GeneralError", "message": "no", "@Message.ExtendedInfo": info}}
    with pytest.raises(BmcRefusedError) as caught:
        play.run(perform(state, POST), [answer(400, body)])
    wanted = "Base.1.0.ActionNotSupported" if isinstance(info, dict) else "Base.1.0.GeneralError"
    assert caught.value.message_ids == (wanted,)
    assert wanted in str(caught.value)


def test_a_password_that_the_bmc_quotes_is_not_shown() -> None:
    state, play = make_state()
    request = Request("PATCH", "/a", {"Password": "pa55 word"}, False, secrets=("pa55 word",))
    bad = refusal(400, "Base.1.8.PropertyValueFormatError", "pa55 word", text="The value pa55 word is bad")
    with pytest.raises(BmcRefusedError) as caught:
        play.run(perform(state, request), [bad])
    assert "pa55 word" not in str(caught.value) + repr(caught.value) + repr(request) + repr(play.steps)
    assert "The value ******** is bad" in str(caught.value)


@pytest.mark.parametrize("quoted", ['p"<5 word', 'p\\"<5 word', "p&quot;&lt;5 word", "p%22%3C5%20word"])
def test_a_password_is_hidden_in_every_way_of_writing_it(quoted: str) -> None:
    state, play = make_state()
    request = Request("PATCH", "/a", {"Password": 'p"<5 word'}, False, secrets=('p"<5 word',))
    page = Response(400, (("content-type", "text/plain"),), f"bad value: {quoted}".encode())
    with pytest.raises(BmcRefusedError) as caught:
        play.run(perform(state, request), [page])
    assert quoted not in str(caught.value)
    assert "bad value: ********" in str(caught.value)


def test_a_body_nested_beyond_reason_is_no_resource_and_no_crash() -> None:
    state, play = make_state()
    with pytest.raises(BmcAnswerError, match="not a Redfish resource"):
        play.run(read(state, GET.path), [Response(200, (), b"[" * 200_000)])


@pytest.mark.parametrize("link", ["https://[::1/redfish/v1", "//[x", "http://", "https://10.0.0.1:443redfish/v1"])
def test_a_link_that_is_no_url_is_told_and_not_followed(link: str) -> None:
    state, play = make_state()
    with pytest.raises(BmcAnswerError):
        play.run(read(state, link), [answer(301, None, location=link)])
    with pytest.raises(BmcAnswerError):
        play.run(transact(state, POST), [answer(301, None, location="https://[::1/redfish/v1")])


def test_a_slow_resource_is_not_asked_again_while_the_bmc_may_still_work_on_it() -> None:
    state, play = make_state()
    late = TransportFailure(FailureKind.TIMEOUT, "no answer within 180 s")
    with pytest.raises(BmcUnreachableError, match="does not answer in time"):
        play.run(read(state, "/redfish/v1/UpdateService/FirmwareInventory"), [late])
    assert len(play.sent) == 1


def test_an_answer_without_end_is_given_up_at_once() -> None:
    state, play = make_state(has_answered=True)
    with pytest.raises(BmcAnswerError, match="does not end"):
        play.run(transact(state, GET), [TransportFailure(FailureKind.ENDLESS, "more than 64 MiB")])


def test_a_bmc_that_leads_on_for_ever_is_left_at_the_request_budget() -> None:
    state, play = make_state(limits=Limits(requests=20))
    count = 0

    def bmc(step: Send) -> Outcome:
        nonlocal count
        count += 1
        return answer(200, {"Members": [{"@odata.id": f"/c/{count}"}], "Members@odata.nextLink": f"/c?{count}"})

    with pytest.raises(BmcAnswerError, match="leads on without end"):
        play.run(bounded(state, list_members(state, "/c")), bmc)
    assert count == 20


def test_a_resource_that_is_made_when_its_parent_is_read_is_found_at_the_second_look() -> None:
    state, play = make_state()
    asked: list[str] = []

    def bmc(step: Send) -> Outcome:
        asked.append(step.target)
        is_there = step.target.endswith("Boot") or any(path.endswith("/Boot") for path in asked)
        return answer(200, {"Id": "1"}) if is_there else answer(404)

    child = "/redfish/v1/Systems/1/Boot/Order"
    assert play.run(read(state, child), bmc) == {"Id": "1"}
    assert asked == [child, "/redfish/v1/Systems/1/Boot", child]


def test_a_parent_that_was_read_is_not_read_again_for_a_missing_child() -> None:
    state, play = make_state()
    play.run(read(state, "/redfish/v1/Systems/1"), [answer(200, {})])
    with pytest.raises(BmcRefusedError):
        play.run(read(state, "/redfish/v1/Systems/1/Nothing"), [answer(404)])


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ssl_error("UNSUPPORTED_PROTOCOL"), BmcTlsError),
        (ssl_error("TLSV1_ALERT_PROTOCOL_VERSION"), BmcTlsError),
        (ssl_error("UNSAFE_LEGACY_RENEGOTIATION_DISABLED"), BmcTlsError),
        (ConnectionResetError(104, "reset"), BmcTlsError),
        (ssl_error("WRONG_VERSION_NUMBER"), BmcAnswerError),
        (ConnectionRefusedError(111, "refused"), BmcUnreachableError),
        (OSError(113, "no route"), BmcUnreachableError),
        (TimeoutError(), BmcUnreachableError),
    ],
)
def test_the_first_handshake_says_why_it_failed(error: OSError, kind: type[RedfishError]) -> None:
    state, play = make_state()
    play.peer = handshake_failure(error, 5)
    with pytest.raises(RedfishError) as caught:
        play.run(ensure_pin(state, MemoryPins()), [])
    assert type(caught.value) is kind
    assert "https://10.0.0.1:443" in str(caught.value)


OUTCOMES = st.one_of(
    st.builds(TransportFailure, st.sampled_from(FailureKind), st.just("x")),
    st.builds(
        Response,
        st.one_of(st.integers(100, 599), st.sampled_from([200, 201, 202, 301, 308, 401, 404, 412, 503])),
        st.lists(
            st.tuples(
                st.sampled_from(["location", "retry-after", "etag", "content-type", "x-auth-token"]),
                st.one_of(st.text(max_size=8), st.sampled_from(["/redfish/v1/x/", "https://other.example/x"])),
            ),
            max_size=3,
        ).map(tuple),
        st.one_of(st.binary(max_size=20), st.sampled_from([b"{}", b"[]", b'{"error":{}}', b'{"error":[1]}'])),
    ),
)


QUESTIONS: tuple[Callable[[BmcState], Exchange[Any]], ...] = (
    lambda state: read(state, "/redfish/v1/Systems/1"),
    lambda state: write(state, Request("PATCH", "/redfish/v1/Systems/1", {"AssetTag": "x"})),
    lambda state: write(state, Request("POST", "/redfish/v1/Systems/1/Actions/x", {})),
    lambda state: list_members(state, "/redfish/v1/Systems"),
    lambda state: ensure_session(state),
)


def failure_of(play: Play, exchange: Exchange[Any], outcomes: Iterable[Outcome]) -> RedfishError | None:
    try:
        play.run(exchange, outcomes)
    except RedfishError as error:
        return error
    return None


@settings(deadline=None)
@given(st.lists(OUTCOMES, min_size=6, max_size=6), st.sampled_from(QUESTIONS))
def test_every_error_names_host_method_path_and_status(
    outcomes: list[Outcome], ask: Callable[[BmcState], Exchange[Any]]
) -> None:
    state, play = make_state(credentials=Credentials("alice", "s3cret-pa55"))
    error = failure_of(play, ask(state), cycle(outcomes))
    if error is not None:
        assert re.match(r"(GET|POST|PATCH|DELETE) https://10\.0\.0\.1:443/redfish/v1", error.where), error
        assert error.status is None or f"HTTP {error.status}" in str(error)
        assert "s3cret-pa55" not in str(error)


@settings(deadline=None)
@given(st.lists(OUTCOMES, min_size=12, max_size=12), st.sampled_from([GET, POST]))
def test_whatever_a_bmc_does_ends_in_an_answer_or_a_typed_error(outcomes: list[Outcome], request: Request) -> None:
    state, play = make_state()
    with suppress(RedfishError):
        assert play.run(perform(state, request), outcomes).is_success
    assert len(play.sent) <= 9
    if request is POST and isinstance(outcomes[0], TransportFailure):
        assert len(play.sent) == 1


def test_a_change_that_waits_for_the_restart_is_told_with_the_way_to_end_it() -> None:
    state, play = make_state()
    with pytest.raises(BmcRefusedError) as caught:
        play.run(perform(state, POST), [refusal(400, "IDRAC.2.8.SYS011")])
    assert "restart the host, then run again" in str(caught.value)
    assert "clear_jobs=ID" in str(caught.value)
