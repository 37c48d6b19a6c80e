"""Whatever happens to the files of a site, it is read or refused with places, never a crash."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.loading.conftest import BLUEPRINT, INVENTORY, BrokenSite

from metalwright.errors import InvalidFilesError, LoadingError
from metalwright.loading import parse_addresses, parse_known_good
from metalwright.loading.locks import ADDRESSES, KNOWN_GOOD

FILES = {**{f"inventory/{name}": text for name, text in INVENTORY.items()}, "blueprints/box/1.0.0.yaml": BLUEPRINT}
ODD = st.sampled_from(
    [
        *("", "null", "[]", "{}", "1e999", "9" * 5000, "-1", "true", "*a", "&a {b: *a}", "!!binary x", "'", "\t", "::"),
        *(
            "0x10",
            "2001:db8::/32",
            "10.0.0.0/33",
            "10.0.0.1-",
            "@",
            "\N{SNOWMAN}",
            "2026-11-30",
            "~",
            "- -",
            "? ",
            "\\",
        ),
        *("a: b", "\\"),
    ]
)


@settings(max_examples=80, deadline=None)
@given(st.sampled_from(sorted(FILES)), st.data())
def test_a_site_with_a_mutated_file_is_never_a_crash(name: str, data: st.DataObject) -> None:
    words = FILES[name].replace("{", "{ ").replace("}", " }").split(" ")
    index = data.draw(st.integers(0, len(words) - 1))
    words[index : index + data.draw(st.integers(0, 2))] = [data.draw(ODD)]
    with TemporaryDirectory() as directory:
        site = BrokenSite(Path(directory))
        site.write(name, " ".join(words))
        reading = site.read()
    assert (reading.repository is None) is bool(reading.errors)
    assert all(error.where for error in reading.errors)


@given(st.text(max_size=40), st.sampled_from([parse_addresses, parse_known_good]))
def test_any_text_after_the_header_of_a_lock_is_read_or_refused_with_a_place(text: str, parse: Any) -> None:
    header = ADDRESSES.header if parse is parse_addresses else KNOWN_GOOD.header
    errors: tuple[LoadingError, ...] = ()
    try:
        parse(f"{header}\n{text}\n", Path("x.lock"))
    except InvalidFilesError as caught:
        errors = caught.errors
    assert all(error.where.startswith("x.lock:") for error in errors)


@pytest.mark.parametrize("text", ["cooling_kw: 1e999\n", f"cooling_kw: {'9' * 5000}\n"])
def test_a_number_without_bounds_is_refused(site: BrokenSite, text: str) -> None:
    site.edit("inventory/racks/r1.yaml", "height_u: 10\n", f"height_u: 10\n{text}")
    (error,) = site.errors()
    assert error.where.endswith("r1.yaml:5:13")
