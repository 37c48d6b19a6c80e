"""Sticker lists: which lines are good, which are named, and that no password is ever told."""

from __future__ import annotations

from pathlib import Path

import pytest

from metalwright.errors import InvalidFilesError, LoadingError, MetalwrightError
from metalwright.secrets.encrypted import EncryptedFileStore
from metalwright.secrets.sticker_file import read_stickers, unit_keys
from metalwright.secrets.stickers import STORE_NAME, Imported, Stickers
from metalwright.secrets.value import Secret

GOOD = """\ufeffService Tag;BMC MAC;User Name;Password
ABC 123;5254.00BC.0001;ADMIN;sticker-one
ABC124;;ADMIN;"sticker;two"

;52-54-00-BC-00-03;root;sticker-three
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "stickers.csv"
    path.write_text(text, encoding="utf-8")
    return path


def store_in(folder: Path) -> EncryptedFileStore:
    return EncryptedFileStore(folder / "secrets.enc", Secret("0" * 64))


def test_headings_delimiters_and_spellings_are_the_makers_own(tmp_path: Path) -> None:
    one, two, three = read_stickers(written(tmp_path, GOOD))
    assert (one.serial, one.mac, one.user, one.password.reveal()) == (
        "ABC 123", "52:54:00:bc:00:01", "ADMIN", "sticker-one",
    )  # fmt: skip
    assert (two.mac, two.password.reveal()) == (None, "sticker;two")
    assert (three.serial, three.user) == (None, "root")


def test_a_unit_is_found_by_mac_or_serial_in_any_spelling(tmp_path: Path) -> None:
    stickers = Stickers(store_in(tmp_path))
    assert stickers.add(read_stickers(written(tmp_path, GOOD))) == Imported(new=3, changed=0, known=0)
    again = Stickers(store_in(tmp_path))
    for keys in (unit_keys(["abc123"], ()), unit_keys((), ["52:54:00:bc:00:01"])):
        assert again.find(keys) == ("ADMIN", Secret("sticker-one"))
    assert again.find(unit_keys(["nobody"], ["52:54:00:bc:00:77"])) is None


def test_a_second_import_changes_nothing_and_a_new_list_replaces(tmp_path: Path) -> None:
    stickers = Stickers(store_in(tmp_path))
    stickers.add(read_stickers(written(tmp_path, GOOD)))
    assert stickers.add(read_stickers(written(tmp_path, GOOD))) == Imported(new=0, changed=0, known=3)
    newer = read_stickers(written(tmp_path, "serial,user,password\nABC124,ADMIN,sticker-new\n"))
    assert stickers.add(newer) == Imported(new=0, changed=1, known=0)
    assert stickers.find(unit_keys(["ABC124"], ())) == ("ADMIN", Secret("sticker-new"))


def test_the_store_holds_no_password_in_clear(tmp_path: Path) -> None:
    Stickers(store_in(tmp_path)).add(read_stickers(written(tmp_path, GOOD)))
    assert b"sticker-one" not in (tmp_path / "secrets.enc").read_bytes()
    assert STORE_NAME.encode() not in (tmp_path / "secrets.enc").read_bytes()


def test_every_bad_line_is_named_and_no_password_is_told(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        "serial,mac,user,password\n"
        "ABC1,52:54:00:bc:00,ADMIN,hidden-1\n"
        ",,ADMIN,hidden-2\n"
        "To be filled by O.E.M.,,ADMIN,hidden-3\n"
        "ABC4,,ADMIN,\n"
        "ABC5,hidden-pass,ADMIN,hidden-5\n"
        "ABC6,,ADMIN,hidden-6\n"
        "abc6,,ADMIN,hidden-7\n",
    )
    with pytest.raises(InvalidFilesError) as caught:
        read_stickers(path)
    said = str(caught.value)
    assert [f"{path}:{line}" in said for line in range(1, 9)] == [False, True, True, True, True, True, False, True]
    assert "hidden" not in said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no column"),
        ("serial,mac,user\nA1,,x\n", "no column password"),
        ("user,password\nx,y\n", "no column serial or mac"),
        ("serial,password\nABC1,hidden\n", "no column user"),
        ("serial,user,password\n", "no line below its heading"),
    ],
)
def test_a_list_that_cannot_be_used_says_what_is_missing(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(LoadingError, match=said) as caught:
        read_stickers(written(tmp_path, text))
    assert "hidden" not in str(caught.value)


def test_the_user_may_be_given_beside_the_list(tmp_path: Path) -> None:
    (sticker,) = read_stickers(written(tmp_path, "serial,password\nABC1,hidden-1\n"), "root")
    assert sticker.user == "root"


def test_a_file_that_is_no_text_is_refused_without_showing_it(tmp_path: Path) -> None:
    path = tmp_path / "stickers.csv"
    path.write_bytes(b"\xff\xfehidden-1")
    with pytest.raises(MetalwrightError) as caught:
        read_stickers(path)
    assert "hidden" not in str(caught.value)


@pytest.mark.parametrize("line", ["Q1;ADMIN;hid;den", "Q1;ADMIN;hidden;;x"])
def test_a_password_that_a_separator_would_cut_is_refused_by_line(line: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidFilesError) as caught:
        read_stickers(written(tmp_path, f"serial;user;password\nQ0;ADMIN;good\n{line}\n"))
    assert ":3: the line has" in str(caught.value)
    assert "hid" not in str(caught.value)


def test_a_quoted_separator_and_empty_cells_at_the_end_are_read(tmp_path: Path) -> None:
    (sticker,) = read_stickers(written(tmp_path, 'serial;user;password\nQ1;ADMIN;"hid;den";;\n'))
    assert sticker.password.reveal() == "hid;den"
