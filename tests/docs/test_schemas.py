"""The examples of the JSON Schemas are right. That every field has one stands in ``test_pages.py``."""

from __future__ import annotations

import json
from typing import Annotated, Any, get_args

from pydantic import BaseModel, TypeAdapter

from metalwright.loading.field_texts import field_texts
from metalwright.loading.schemas import MODELS


def models() -> dict[str, type[BaseModel]]:
    """Every model that a schema has a part for, by name."""
    found: dict[str, type[BaseModel]] = {}

    def look(kind: Any) -> None:
        for part in get_args(kind):
            look(part)
        if isinstance(kind, type) and issubclass(kind, BaseModel) and kind.__name__ not in found:
            kind.model_rebuild()
            found[kind.__name__] = kind
            for field in kind.model_fields.values():
                look(field.annotation)

    for model in MODELS.values():
        look(model)
    return found


def test_every_example_is_a_value_that_its_field_takes() -> None:
    wrong = []
    for name, texts in field_texts().items():
        fields = {field.alias or key: field for key, field in models()[name].model_fields.items()}
        for field, text in texts.items():
            kind: Any = Annotated[fields[field].annotation, *fields[field].metadata, None]
            try:
                TypeAdapter(kind).validate_json(json.dumps(text.example))
            except ValueError as error:
                wrong.append(f"{name}.{field}: {error}")
    assert wrong == []


def test_no_text_is_left_of_a_field_that_went() -> None:
    left = [
        f"{name}.{field}"
        for name, texts in field_texts().items()
        for field in texts
        if field not in {item.alias or key for key, item in models()[name].model_fields.items()}
    ]
    assert left == []


def test_sentences_end_as_sentences() -> None:
    texts = [text.description for table in field_texts().values() for text in table.values()]
    assert [text for text in texts if not text.endswith(".") or text[0].isspace() or len(text) > 160] == []
