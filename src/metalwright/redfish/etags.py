"""Entity tags: which ``If-Match`` values are worth trying, in order.

Seen in the field: a header that arrives twice, one that is quoted twice, BMCs that want the weak tag back as it came
and others that want only the quoted part, and resources whose tag changes at every read.
"""

from __future__ import annotations

from metalwright.redfish.wire import Response


def _collapse(values: tuple[str, ...]) -> list[str]:
    """Return the different tags of the header, also when a library joined repeats with commas."""
    tags: list[str] = []
    for value in values:
        parts = [part.strip() for part in value.split(", ")]
        for tag in [parts[0]] if len(set(parts)) == 1 else [value.strip()]:
            if tag and tag not in tags:
                tags.append(tag)
    return tags


def _other_form(tag: str) -> str | None:
    """Return the weak form of a strong tag and the other way round."""
    if tag.startswith("W/"):
        return tag.removeprefix("W/")
    return f"W/{tag}" if tag.startswith('"') else f'"{tag}"'


def tags_of(response: Response) -> tuple[str, ...]:
    """Return the tags to try for the resource in ``response``, best first; empty when it has none.

    The header comes first, exactly as received; then the body's ``@odata.etag``; then the other form (weak or strong)
    of the first. Two different header lines contradict each other, so the body decides.
    """
    header = _collapse(response.header_values("etag"))
    body = (response.json_object() or {}).get("@odata.etag")
    in_body = [body] if isinstance(body, str) and body else []
    ordered = header + in_body if len(header) < 2 else in_body + header
    if ordered and (other := _other_form(ordered[0])):
        ordered.append(other)
    return tuple(dict.fromkeys(ordered))
