"""A secret shows itself nowhere."""

from __future__ import annotations

import json
import logging
import pickle

import pytest

from metalwright.secrets.value import RedactingFilter, Secret, redact


def test_it_is_masked_in_every_text() -> None:
    secret = Secret("hunter2 of the moor")
    texts = [repr(secret), str(secret), f"{secret}", f"{secret:>30}", f"{[secret]}", f"{secret!r}", "%s" % secret]  # noqa: UP031 - this form too
    assert all("hunter2" not in text for text in texts)
    assert secret.reveal() == "hunter2 of the moor"


def test_it_cannot_be_written_as_an_object() -> None:
    with pytest.raises(TypeError):
        pickle.dumps(Secret("hunter2-pickle"))
    with pytest.raises(TypeError):
        json.dumps(Secret("hunter2-json"))


def test_it_compares_by_content() -> None:
    assert Secret("same text") == Secret("same text")
    assert Secret("same text") != Secret("other text")
    assert Secret("same text") != "same text"
    assert len({Secret("same text"), Secret("same text")}) == 1


def test_texts_lose_every_secret_longer_ones_first() -> None:
    Secret("pass-phrase")
    Secret("pass-phrase-and-more")
    assert redact("a pass-phrase-and-more b pass-phrase c") == "a *** b *** c"


def test_its_json_form_goes_too() -> None:
    Secret('quo"ted\\ü')
    assert redact(json.dumps({"Password": 'quo"ted\\ü'})) == '{"Password": "***"}'


def test_short_texts_are_left_alone() -> None:
    Secret("abc")
    assert redact("abc") == "abc"


def test_logs_lose_it_in_message_arguments_and_traceback(caplog: pytest.LogCaptureFixture) -> None:
    secret = Secret("hunter2-in-logs")
    caplog.handler.addFilter(RedactingFilter())
    logger = logging.getLogger("test")
    logger.warning("login with %s", secret.reveal())
    try:
        raise ValueError(secret.reveal())
    except ValueError:
        logger.exception("failed")
    assert "hunter2-in-logs" not in caplog.text
    assert "login with ***" in caplog.text
    assert "ValueError: ***" in caplog.text
