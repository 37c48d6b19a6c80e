"""The same failing act is refused after two failures; reading never is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metalwright.lifecycle import REPEATED, Act, Effect, refuse_repetition

WRITE = Act("bios", "write A", Effect.RESET)


@pytest.mark.parametrize("failures", [0, 1])
def test_an_act_may_fail_once_and_be_tried_again(failures: int) -> None:
    assert refuse_repetition(WRITE, "n1", failures, "x") is None


@given(st.integers(2, 100), st.sampled_from([Effect.DESTROY, Effect.RESET, Effect.WRITE]))
def test_after_two_failures_of_the_same_kind_the_refusal_names_the_last_one_and_the_command(
    failures: int, effect: Effect
) -> None:
    refusal = refuse_repetition(Act("bios", "write A", effect), "n1", failures, "the BMC refused")
    assert refusal is not None
    assert refusal.code == REPEATED
    assert refusal.found == "the BMC refused"
    assert "metalwright provision n1 --retry" in (refusal.hint or "")


@given(st.integers(0, 100))
def test_reading_is_never_refused(failures: int) -> None:
    assert refuse_repetition(Act("accept", "run the tests", Effect.READ), "n1", failures, None) is None
