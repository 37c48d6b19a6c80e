from __future__ import annotations

import logging

import pytest
from tests.unit.redfish.player import answer, make_state, refusal

from metalwright.errors import BmcAuthError, BmcNoAnswerError, BmcRefusedError, BmcUnreachableError
from metalwright.redfish import Credentials, MemoryLatch
from metalwright.redfish.dialogue import read
from metalwright.redfish.sessions import ensure_session, fetch_root, logout
from metalwright.redfish.wire import Enter, FailureKind, Outcome, Send, Sleep, TransportFailure

ROOT = {"RedfishVersion": "1.15.0", "Links": {"Sessions": {"@odata.id": "/redfish/v1/SessionService/Sessions"}}}
SESSION = answer(201, {"Id": "7"}, x_auth_token="tok-1", location="/redfish/v1/SessionService/Sessions/7")
ALICE = Credentials("alice", "s3cret")


def test_the_login_goes_out_without_any_credential_header() -> None:
    state, play = make_state(credentials=ALICE)
    play.run(ensure_session(state), [answer(200, ROOT), SESSION])
    root, login = play.sent
    assert (login.method, login.target) == ("POST", "/redfish/v1/SessionService/Sessions")
    assert login.body == {"UserName": "alice", "Password": "s3cret"}
    assert not {"Authorization", "X-Auth-Token"} & (set(root.headers) | set(login.headers))


def test_one_session_serves_all_requests_and_is_deleted() -> None:
    state, play = make_state(credentials=ALICE)
    play.run(read(state, "/redfish/v1/Systems"), [answer(200, ROOT), SESSION, answer(200, {})])
    play.run(read(state, "/redfish/v1/Chassis"), [answer(200, {})])
    play.run(logout(state), [answer(204)])
    assert [s.method for s in play.sent] == ["GET", "POST", "GET", "GET", "DELETE"]
    assert play.sent[-1].target == "/redfish/v1/SessionService/Sessions/7"
    assert play.sent[-1].headers["X-Auth-Token"] == "tok-1"
    assert not state.is_logged_in


def test_a_refused_login_is_final_for_everybody_who_shares_the_latch() -> None:
    latch = MemoryLatch()
    state, play = make_state(credentials=ALICE, latch=latch)
    with pytest.raises(BmcAuthError, match="refused the login of user 'alice'"):
        play.run(ensure_session(state), [answer(200, ROOT), refusal(401, "Base.1.8.InsufficientPrivilege")])
    other, second = make_state(credentials=ALICE, latch=latch)
    with pytest.raises(BmcAuthError, match="not sent again"):
        second.run(ensure_session(other), [answer(200, ROOT)])
    assert [s.method for s in second.sent] == ["GET"]


def test_whoever_comes_second_waits_and_learns_of_the_refusal_before_sending_anything() -> None:
    latch = MemoryLatch()
    (first, _), (second, _) = (make_state(credentials=ALICE, latch=latch, root=ROOT) for _ in range(2))
    one, other = ensure_session(first), ensure_session(second)
    assert isinstance(one.send(None), Enter)
    login = one.send(None)
    assert isinstance(login, Send)
    assert login.method == "POST"
    assert isinstance(other.send(None), Enter)
    assert isinstance(other.send(None), Sleep)
    with pytest.raises(BmcAuthError, match="refused the login"):
        one.send(answer(401))
    with pytest.raises(BmcAuthError, match="not sent again"):
        other.send(None)


def test_who_never_gets_its_turn_says_so() -> None:
    latch = MemoryLatch()
    assert latch.try_enter("node-1")
    state, play = make_state(credentials=ALICE, latch=latch, root=ROOT)
    with pytest.raises(BmcUnreachableError, match="another process is logging in"):
        play.run(ensure_session(state), [])
    assert 100 < sum(play.slept) < 140


def test_another_password_is_tried_although_one_is_latched() -> None:
    latch = MemoryLatch()
    state, play = make_state(credentials=ALICE, latch=latch)
    with pytest.raises(BmcAuthError):
        play.run(ensure_session(state), [answer(200, ROOT), answer(401)])
    state, play = make_state(credentials=Credentials("alice", "right"), latch=latch)
    play.run(ensure_session(state), [answer(200, ROOT), SESSION])
    assert state.token == "tok-1"


def test_an_expired_session_is_renewed_once_and_never_by_basic() -> None:
    state, play = make_state(credentials=ALICE)
    fresh = answer(201, {}, x_auth_token="tok-2", location="/redfish/v1/SessionService/Sessions/8")
    script: list[Outcome] = [answer(200, ROOT), SESSION, answer(401), fresh, answer(404), answer(200, {"a": 1})]
    assert play.run(read(state, "/redfish/v1/Systems"), script) == {"a": 1}
    assert play.sent[-1].headers["X-Auth-Token"] == "tok-2"
    assert not any("Authorization" in step.headers for step in play.sent)


def test_what_stays_closed_to_a_fresh_session_is_a_refusal_and_says_nothing_about_the_login() -> None:
    state, play = make_state(credentials=ALICE)

    def bmc(step: Send) -> Outcome:
        if step.target.endswith("Sessions"):
            return SESSION
        return answer(401) if step.target == "/redfish/v1/Systems" else answer(200, ROOT)

    for logins in (3, 3):
        with pytest.raises(BmcRefusedError, match="does not show this to the user") as caught:
            play.run(read(state, "/redfish/v1/Systems"), bmc)
        assert caught.value.status == 401
        assert state.logins == logins


def test_a_replaced_session_is_deleted_with_the_new_one() -> None:
    state, play = make_state(credentials=ALICE)
    fresh = answer(201, {}, x_auth_token="tok-2", location="/redfish/v1/SessionService/Sessions/8")
    play.run(
        read(state, "/redfish/v1/Systems"),
        [answer(200, ROOT), SESSION, answer(401), fresh, answer(204), answer(200, {})],
    )
    (deleted,) = [step for step in play.sent if step.method == "DELETE"]
    assert (deleted.target, deleted.headers["X-Auth-Token"]) == ("/redfish/v1/SessionService/Sessions/7", "tok-2")


def test_a_renewal_never_falls_back_to_basic() -> None:
    state, play = make_state(credentials=ALICE)
    with pytest.raises(BmcRefusedError):
        play.run(read(state, "/redfish/v1/Systems"), [answer(200, ROOT), SESSION, answer(401), answer(404)])
    assert not any("Authorization" in step.headers for step in play.sent)


def test_a_login_whose_connection_broke_is_sent_once_more_and_no_third_time() -> None:
    state, play = make_state(credentials=ALICE)
    broken = TransportFailure(FailureKind.CLOSED, "closed")
    play.run(ensure_session(state), [answer(200, ROOT), broken, SESSION])
    state, play = make_state(credentials=ALICE)
    with pytest.raises(BmcNoAnswerError):
        play.run(ensure_session(state), [answer(200, ROOT), broken, broken, SESSION])


def test_a_password_that_must_be_changed_before_the_login_is_not_latched() -> None:
    latch = MemoryLatch()
    change = refusal(403, "Base.1.8.PasswordChangeRequired", "/redfish/v1/AccountService/Accounts/1")
    for _ in range(2):
        state, play = make_state(credentials=ALICE, latch=latch)
        with pytest.raises(BmcAuthError, match="wants its password changed"):
            play.run(ensure_session(state), [answer(200, ROOT), change])
        assert state.password_change_uri == "/redfish/v1/AccountService/Accounts/1"


def test_a_root_that_wants_a_login_is_read_again_with_one() -> None:
    state, play = make_state(credentials=ALICE)

    def bmc(step: Send) -> Outcome:
        if step.method == "POST":
            return SESSION
        is_shown = "X-Auth-Token" in step.headers and step.target == "/redfish/v1"
        return answer(200, ROOT) if is_shown else answer(401)

    assert play.run(read(state, "/redfish/v1/"), bmc) == ROOT
    assert state.root == ROOT


def test_a_full_session_table_is_waited_for_and_then_named() -> None:
    state, play = make_state(credentials=ALICE)
    full = refusal(503, "IDRAC.2.1.RAC0218")
    play.run(ensure_session(state), [answer(200, ROOT), full, full, SESSION])
    assert play.slept == [5.0, 5.0]
    state, play = make_state(credentials=ALICE)
    with pytest.raises(BmcRefusedError, match="all sessions of the BMC are in use"):
        play.run(ensure_session(state), lambda step: answer(200, ROOT) if step.method == "GET" else full)


def test_basic_is_used_only_without_session_service_and_said(caplog: pytest.LogCaptureFixture) -> None:
    state, play = make_state(credentials=ALICE)
    root = {"Systems": {"@odata.id": "/redfish/v1/Systems"}}
    with caplog.at_level(logging.WARNING):
        play.run(ensure_session(state), [answer(200, root), answer(200, {})])
    assert play.sent[1].headers["Authorization"].startswith("Basic ")
    assert "using Basic authentication" in caplog.text
    assert "s3cret" not in caplog.text


def test_a_wrong_password_over_basic_is_sent_once() -> None:
    state, play = make_state(credentials=ALICE)
    with pytest.raises(BmcAuthError):
        play.run(read(state, "/redfish/v1/Chassis"), [answer(200, {"Systems": {}}), answer(401)])
    assert len([s for s in play.sent if "Authorization" in s.headers]) == 1
    with pytest.raises(BmcAuthError):
        play.run(read(state, "/redfish/v1/Chassis"), [])


@pytest.mark.parametrize("good", ["/redfish/v1/", "/redfish/v1"])
def test_the_root_is_found_with_and_without_trailing_slash(good: str) -> None:
    state, play = make_state()

    def bmc(step: Send) -> Outcome:
        return answer(200, ROOT) if step.target == good else answer(401)

    assert play.run(fetch_root(state), bmc) == ROOT


def test_a_password_that_must_be_changed_is_recognised() -> None:
    state, play = make_state(credentials=ALICE)
    info = {"MessageId": "Base.1.8.PasswordChangeRequired", "MessageArgs": ["/redfish/v1/AccountService/Accounts/1"]}
    body = {"@Message.ExtendedInfo": [info]}
    session = answer(201, body, x_auth_token="t", location="/redfish/v1/SessionService/Sessions/1")
    play.run(ensure_session(state), [answer(200, ROOT), session])
    assert state.password_change_uri == "/redfish/v1/AccountService/Accounts/1"


def test_logging_out_of_a_dead_bmc_raises_nothing() -> None:
    state, play = make_state(credentials=ALICE)
    play.run(ensure_session(state), [answer(200, ROOT), SESSION])
    play.run(logout(state), lambda _: answer(500))
    assert not state.is_logged_in


def test_a_credential_identifier_does_not_depend_on_how_the_pair_is_cut() -> None:
    assert Credentials("ab", "c").identifier(b"k") != Credentials("a", "bc").identifier(b"k")
    assert Credentials("a", "b").identifier(b"k1") != Credentials("a", "b").identifier(b"k2")
    assert "s3cret" not in repr(ALICE)


def test_where_no_login_was_given_the_error_does_not_blame_one() -> None:
    state, play = make_state(credentials=None)
    with pytest.raises(BmcAuthError) as caught:
        play.run(read(state, "/redfish/v1/Systems"), lambda _: answer(401, {}))
    assert caught.value.what == "the BMC wants a login, and none was given"
    assert "METALWRIGHT_BMC_USER" in (caught.value.hint or "")
