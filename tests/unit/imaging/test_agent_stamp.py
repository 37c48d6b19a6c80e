"""The stamp on a disk."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metalwright.imaging.agent.failures import AgentError
from metalwright.imaging.agent.stamp import (
    AREA_BYTES,
    OFFSET_BYTES,
    PARTIAL_MAGIC,
    decode_stamp,
    encode_stamp,
    read_stamp_area,
    write_stamp,
)

STAMPS = st.dictionaries(st.text(max_size=20), st.one_of(st.text(max_size=100), st.integers()), max_size=8)


@given(STAMPS)
def test_stamp_comes_back_as_it_was_written(stamp: dict[str, object]) -> None:
    area = encode_stamp(stamp)
    assert len(area) == AREA_BYTES
    assert decode_stamp(area) == stamp
    assert decode_stamp(area, PARTIAL_MAGIC) is None


@given(STAMPS, st.integers(0, 8 + 4 + 2 + 32 - 1), st.integers(1, 255))
def test_damaged_stamp_is_no_stamp(stamp: dict[str, object], position: int, flip: int) -> None:
    area = bytearray(encode_stamp(stamp))
    area[position] ^= flip
    assert decode_stamp(bytes(area)) is None


@given(st.binary(max_size=AREA_BYTES))
def test_any_bytes_can_be_looked_at(area: bytes) -> None:
    assert decode_stamp(area) is None


def test_stamp_that_does_not_fit_is_refused() -> None:
    with pytest.raises(AgentError, match="too long"):
        encode_stamp({"run": "x" * AREA_BYTES})


def test_stamp_lies_between_partition_table_and_first_partition(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.write_bytes(bytes(1 << 20))
    write_stamp(str(disk), {"run": "run-1"})
    assert decode_stamp(read_stamp_area(str(disk))) == {"run": "run-1"}
    content = disk.read_bytes()
    assert OFFSET_BYTES == 524288
    assert not any(content[:524288])
    assert not any(content[524288 + 4096 :])
