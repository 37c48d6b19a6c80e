"""What SARIF 2.1.0 (OASIS, section 3) requires of the objects that a review writes, as JSON Schema."""

from __future__ import annotations

from typing import Any


def _object(required: tuple[str, ...], **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def _list(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


_TEXT = {"type": "string", "minLength": 1}
_FROM_1 = {"type": "integer", "minimum": 1}
_MESSAGE = _object(("text",), text=_TEXT, markdown=_TEXT)
_REGION = _object((), startLine=_FROM_1, startColumn=_FROM_1)
_ARTIFACT = _object((), uri={"type": "string", "format": "uri-reference"})
_PLACE = _object(("artifactLocation",), artifactLocation=_ARTIFACT, region=_REGION)
_RESULT = _object(
    ("message",),
    ruleId=_TEXT,
    ruleIndex={"type": "integer", "minimum": 0},
    level={"enum": ["none", "note", "warning", "error"]},
    message=_MESSAGE,
    locations=_list(_object((), physicalLocation=_PLACE)),
)
_RULE = _object(("id",), id=_TEXT, help=_MESSAGE)
_DRIVER = _object(("name",), name=_TEXT, version=_TEXT, rules={**_list(_RULE), "uniqueItems": True})
_RUN = _object(
    ("tool",),
    tool=_object(("driver",), driver=_DRIVER),
    columnKind={"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
    results=_list(_RESULT),
)
SCHEMA = {
    **_object(("version", "runs"), version={"const": "2.1.0"}, runs=_list(_RUN)),
    "$schema": "http://json-schema.org/draft-07/schema#",
}
SCHEMA["properties"]["$schema"] = {"type": "string", "format": "uri"}
