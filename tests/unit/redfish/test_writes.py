from __future__ import annotations

from typing import Any

import pytest
from tests.unit.redfish.player import answer, make_state, refusal

from metalwright.errors import BmcAnswerError, BmcNoAnswerError, BmcRefusedError
from metalwright.redfish.collections import list_members
from metalwright.redfish.dialogue import shows, write
from metalwright.redfish.tasks import follow
from metalwright.redfish.wire import FailureKind, Outcome, Request, Response, Send, TransportFailure

URI = "/redfish/v1/Systems/1/Bios/Settings"
PATCH = Request("PATCH", URI, {"Attributes": {"A": "On"}})


class Tagged:
    """A resource whose PATCH wants a certain ``If-Match``."""

    def __init__(self, headers: tuple[str, ...], body_tag: str | None, wants: str | None) -> None:
        self.headers, self.body_tag, self.wants = headers, body_tag, wants
        self.patches: list[str | None] = []

    def __call__(self, step: Send) -> Outcome:
        if step.method == "GET":
            body = b"{}" if self.body_tag is None else b'{"@odata.etag": %s}' % _json(self.body_tag)
            return Response(200, tuple(("etag", tag) for tag in self.headers), body)
        self.patches.append(step.headers.get("If-Match"))
        return answer(204) if self.patches[-1] == self.wants else answer(412)


def _json(text: str) -> bytes:
    import json

    return json.dumps(text).encode()


@pytest.mark.parametrize(
    ("headers", "body_tag", "wants"),
    [
        pytest.param(('W/"17"',), None, 'W/"17"', id="weak-as-received"),
        pytest.param(('W/"17"',), None, '"17"', id="weak-wants-strong"),
        pytest.param(('"17"',), None, 'W/"17"', id="strong-wants-weak"),
        pytest.param(('"\\"abc\\""',), '"abc"', '"abc"', id="quoted-twice"),
        pytest.param(('"A1"', '"A1"'), None, '"A1"', id="header-twice"),
        pytest.param(('"A1", "A1"',), None, '"A1"', id="header-joined"),
        pytest.param(('"A1"', '"B2"'), '"B2"', '"B2"', id="headers-differ"),
        pytest.param((), '"in-body"', '"in-body"', id="only-in-body"),
        pytest.param((), None, None, id="no-tag-at-all"),
    ],
)
def test_the_right_form_of_the_tag_is_found_in_two_tries(
    headers: tuple[str, ...], body_tag: str | None, wants: str | None
) -> None:
    state, play = make_state()
    bmc = Tagged(headers, body_tag, wants)
    assert play.run(write(state, PATCH), bmc).status == 204
    assert len(bmc.patches) <= 2


def test_a_tag_that_moves_with_every_read_is_followed_a_few_times() -> None:
    state, play = make_state()
    counter = iter(range(1, 100))
    current = 0
    patches = 0

    def bmc(step: Send) -> Outcome:
        nonlocal current, patches
        if step.method == "GET":
            current = next(counter)
            tag = current
            if patches == 0:
                current = next(counter)
            return answer(200, {}, etag=f'"{tag}"')
        patches += 1
        return answer(204) if step.headers.get("If-Match") == f'"{current}"' else answer(412)

    assert play.run(write(state, PATCH), bmc).status == 204
    assert patches == 2


def test_a_tag_that_is_never_accepted_ends_in_a_typed_error_and_no_unconditional_write() -> None:
    state, play = make_state()
    bmc = Tagged(('"17"',), None, "never")
    with pytest.raises(BmcRefusedError) as caught:
        play.run(write(state, PATCH), bmc)
    assert caught.value.status == 412
    assert bmc.patches == ['"17"', 'W/"17"']
    assert 'If-Match: "17", If-Match: W/"17"' in str(caught.value)


@pytest.mark.parametrize(("took_effect", "patches"), [(True, 1), (False, 2)])
def test_a_patch_without_answer_is_settled_by_reading(took_effect: bool, patches: int) -> None:
    state, play = make_state()
    values = {"A": "Off"}
    count = 0

    def bmc(step: Send) -> Outcome:
        nonlocal count
        if step.method == "GET":
            return answer(200, {"Attributes": dict(values)})
        count += 1
        if count == 1:
            values.update({"A": "On"} if took_effect else {})
            return TransportFailure(FailureKind.CLOSED, "closed")
        return answer(204)

    play.run(write(state, PATCH), bmc)
    assert count == patches


def test_a_post_without_answer_is_left_to_the_caller() -> None:
    state, play = make_state()
    with pytest.raises(BmcNoAnswerError):
        play.run(write(state, Request("POST", "/a", {})), [TransportFailure(FailureKind.TIMEOUT, "slow")])


@pytest.mark.parametrize(
    ("current", "wanted", "result"),
    [
        ({"a": 1, "b": 2}, {"a": 1}, True),
        ({"a": True}, {"a": 1}, False),
        ({"a": {"b": None}}, {"a": {"b": None}}, True),
        ({}, {"a": None}, True),
        ({"a": [{"x": 1, "y": 2}]}, {"a": [{"x": 1}]}, True),
        ({"a": []}, {"a": [1]}, False),
        (None, {"a": 1}, False),
        ({}, {"@Redfish.SettingsApplyTime": {}}, True),
    ],
)
def test_a_resource_shows_what_was_wanted(current: Any, wanted: Any, result: bool) -> None:
    assert shows(current, wanted) is result


def _pages(pages: dict[str, Any]) -> Any:
    return lambda step: answer(200, pages[step.target])


def _ids(*names: str) -> list[dict[str, str]]:
    return [{"@odata.id": f"/c/{name}"} for name in names]


def test_all_pages_of_a_collection_are_read() -> None:
    state, play = make_state()
    pages = {
        "/c": {"Members@odata.count": 3, "Members": _ids("1", "2"), "Members@odata.nextLink": "/c?$skip=2"},
        "/c?$skip=2": {"Members@odata.count": 3, "Members": _ids("3")},
    }
    got = play.run(list_members(state, "/c"), _pages(pages))
    assert got.uris == ("/c/1", "/c/2", "/c/3")
    assert got.is_complete


@pytest.mark.parametrize(
    ("pages", "count", "problem"),
    [
        ({"/c": {"Members": _ids("1"), "Members@odata.nextLink": "/c"}}, 1, "leads back"),
        ({"/c": {"Members@odata.count": 3, "Members": _ids("1", "2")}}, 2, "announced 3 members and listed 2"),
        ({"/c": {"Members": _ids("1"), "error": {"code": "Base.1.8.InternalError"}}}, 1, "InternalError"),
        ({"/c": {"Members": [{"Name": "no link"}, *_ids("2")]}}, 1, "no @odata.id"),
        ({"/c": {}}, 0, "no Members"),
    ],
)
def test_what_is_missing_from_a_collection_is_told(pages: dict[str, Any], count: int, problem: str) -> None:
    state, play = make_state()
    got = play.run(list_members(state, "/c"), _pages(pages))
    assert len(got.members) == count
    assert problem in got.problems[0]


def test_embedded_single_and_repeated_members_are_taken() -> None:
    state, play = make_state()
    embedded = {"@odata.id": "/c/1", "Id": "1", "Name": "one"}
    got = play.run(list_members(state, "/c"), _pages({"/c": {"Members": embedded}}))
    assert got.members[0].body == embedded
    twice = {"/c": {"Members@odata.count": 2, "Members": _ids("1", "1")}}
    got = play.run(list_members(state, "/c"), _pages(twice))
    assert (got.uris, got.problems) == (("/c/1",), ())


def test_a_task_is_followed_to_its_end() -> None:
    state, play = make_state()
    script: list[Outcome] = [
        answer(200, {"TaskState": "Running", "PercentComplete": 10}, retry_after="2"),
        answer(200, {"TaskState": "Completed", "TaskStatus": "OK"}),
    ]
    task = play.run(follow(state, answer(202, None, location="/t/1"), timeout_s=30), script)
    assert (task.state, task.is_ended, play.slept) == ("Completed", True, [2.0])


@pytest.mark.parametrize(("task_state", "status"), [("Exception", "OK"), ("Completed", "Critical")])
def test_a_task_fails_when_either_word_says_so(task_state: str, status: str) -> None:
    state, play = make_state()
    body = {"TaskState": task_state, "TaskStatus": status, "Messages": [{"MessageId": "X.1.0.Bad", "Message": "bad"}]}
    with pytest.raises(BmcRefusedError, match=r"X\.1\.0\.Bad bad"):
        play.run(follow(state, answer(202, None, location="/t/1"), timeout_s=30), [answer(200, body)])


def test_a_vanished_task_is_no_success_and_a_nameless_one_an_error() -> None:
    state, play = make_state()
    task = play.run(follow(state, answer(202, None, location="/t/1"), timeout_s=5), [refusal(404, "Base.1.8.X")])
    assert task.state == "Gone"
    with pytest.raises(BmcAnswerError):
        play.run(follow(state, answer(202), timeout_s=5), [])
