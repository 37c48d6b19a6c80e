"""Rendered files: nothing when they are right, one transfer when they are not."""

from __future__ import annotations

import base64
import hashlib
import io
import tarfile
from typing import Any

import pytest
from pyinfra.context import ctx_host
from tests.operations.in_band.stand_in import StandInHost, commands_of

from metalwright.operations.files import rendered

FILES = [
    {"path": "/etc/a.conf", "text": "ä\n", "mode": "644"},
    {"path": "/etc/sudoers.d/b", "text": "b\n", "mode": "440"},
]


def right(item: dict[str, str], **changes: str) -> dict[str, str]:
    digest = hashlib.sha256(item["text"].encode()).hexdigest()
    return {"mode": item["mode"], "user": "root", "group": "root", "sha256": digest} | changes


def test_files_that_are_right_need_nothing() -> None:
    states = {item["path"]: right(item) for item in FILES}
    assert commands_of(rendered, {"FileStates": states}, files=FILES) == ([], ["all files are as rendered"])


@pytest.mark.parametrize("change", [{"mode": "640"}, {"user": "amina"}, {"group": "adm"}, {"sha256": "0" * 64}])
def test_a_file_that_differs_in_anything_is_written(change: dict[str, str]) -> None:
    states = {FILES[0]["path"]: right(FILES[0], **change), FILES[1]["path"]: right(FILES[1])}
    (command,), _ = commands_of(rendered, {"FileStates": states}, files=FILES)
    assert command.startswith(": write /etc/a.conf; base64 --decode | tar --extract --directory /")


def test_what_is_sent_has_the_text_the_mode_and_root() -> None:
    host = StandInHost({"FileStates": {}})
    with ctx_host.use(host):
        (command,) = list(rendered._inner(files=FILES))
    sent = base64.b64decode("".join(command.connector_arguments["_stdin"]))
    with tarfile.open(fileobj=io.BytesIO(sent)) as archive:
        entries = {entry.name: entry for entry in archive}
        assert {name: (entry.mode, entry.uid, entry.uname) for name, entry in entries.items()} == {
            "etc/a.conf": (0o644, 0, "root"),
            "etc/sudoers.d/b": (0o440, 0, "root"),
        }
        text = archive.extractfile("etc/a.conf")
        assert text is not None
        assert text.read() == "ä\n".encode()


def test_diff_shows_what_would_change(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []
    monkeypatch.setattr("metalwright.operations.files.logger.info", shown.append)
    states = {"/etc/a.conf": right(FILES[0], sha256="0" * 64)}
    host = StandInHost({"FileStates": states, "FileContents": ["old"]})
    host.state.config.DIFF = True
    with ctx_host.use(host):
        list(rendered._inner(files=FILES[:1]))
    assert shown[-2:] == ["[lab-1] -old", "[lab-1] +ä"]


def test_a_new_file_is_shown_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []
    monkeypatch.setattr("metalwright.operations.files.logger.info", shown.append)
    facts: dict[str, Any] = {"FileStates": {}}
    host = StandInHost(facts)
    host.state.config.DIFF = True
    with ctx_host.use(host):
        list(rendered._inner(files=FILES[1:]))
    assert shown[-1] == "[lab-1] +b"
