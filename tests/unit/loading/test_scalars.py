"""A value is replaced where it stands, and every other byte of the file stays as a person wrote it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import BaseModel

from metalwright.errors import LoadingError
from metalwright.loading import parse_model
from metalwright.loading.scalars import Place, with_scalars, write_keeping_form


class Part(BaseModel):
    serial: str
    mac: str = ""


class Parts(BaseModel):
    parts: list[Part]


TEXT = """\
# a rack
parts:
  - serial: A1        # the sticker
    mac: "52:54:00:00:00:01"
  - {mac: '52:54:00:00:00:02', serial: B#2}   # in one line
"""


def replaced(values: dict[Place, str], text: str = TEXT) -> str:
    return with_scalars(parse_model(text, Parts, Path("f.yaml")), values)


def test_comments_order_and_quotes_stay() -> None:
    made = replaced(
        {("parts", 0, "serial"): "A1-NEW", ("parts", 0, "mac"): "52:54:00:00:00:0a", ("parts", 1, "serial"): "C"}
    )
    assert made == (
        TEXT.replace("serial: A1 ", "serial: A1-NEW ").replace("00:01", "00:0a").replace("serial: B#2", "serial: C")
    )


def test_two_values_of_one_line_are_both_replaced() -> None:
    made = replaced({("parts", 1, "serial"): "longer-than-before", ("parts", 1, "mac"): "52:54:00:00:00:0b"})
    assert "{mac: '52:54:00:00:00:0b', serial: longer-than-before}   # in one line" in made


@example("Null")
@given(st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Zl", "Zp")), min_size=1, max_size=20))
def test_whatever_a_bmc_says_is_read_back_as_it_was(value: str) -> None:
    made = parse_model(replaced({("parts", 0, "serial"): value}), Parts, Path("f.yaml")).model
    assert made.parts[0] == Part(serial=value, mac="52:54:00:00:00:01")
    assert made.parts[1] == Part(serial="B#2", mac="52:54:00:00:00:02")


@pytest.mark.parametrize("place", [("parts", 0), ("parts", 7, "serial"), ("other",)])
def test_what_is_no_single_value_is_refused(place: Place) -> None:
    with pytest.raises(LoadingError, match="cannot be replaced where it stands"):
        replaced({place: "x"})


def test_a_value_over_several_lines_is_refused() -> None:
    with pytest.raises(LoadingError, match="cannot be replaced"):
        replaced({("parts", 0, "serial"): "x"}, "parts:\n  - serial: one\n      two\n")


def test_line_ends_mark_and_mode_of_the_file_stay(tmp_path: Path) -> None:
    path = tmp_path / "f.yaml"
    path.write_bytes(b"\xef\xbb\xbfa: 1\r\nb: 2\r\n")
    path.chmod(0o640)
    write_keeping_form(path, "a: 3\nb: 2\n", root=tmp_path)
    assert path.read_bytes() == b"\xef\xbb\xbfa: 3\r\nb: 2\r\n"
    assert path.stat().st_mode & 0o777 == 0o640
