"""Scalar types with one normal form."""

from __future__ import annotations

import uuid

from hypothesis import given
from hypothesis import strategies as st

from metalwright.model.base import normal_uuid, uuid_forms


@given(st.uuids())
def test_both_byte_orders_of_a_uuid_are_its_forms_however_it_is_written(value: uuid.UUID) -> None:
    swapped = uuid.UUID(bytes_le=value.bytes)
    for written in (str(value), str(value).upper(), f" {value.hex}\n", str(swapped)):
        assert uuid_forms(written) == {str(value), str(swapped)}
    assert normal_uuid(f"{{{str(value).upper()}}}") == str(value)
