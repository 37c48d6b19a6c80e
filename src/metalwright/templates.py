"""The site's own templates, rendered on the controller: files of nodes, seeds, DHCP configurations."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, TemplateError

from metalwright.errors import LoadingError

COMPARE = "compare it with the template that metalwright ships (`metalwright init` in an empty directory)"


def render(templates: Path, name: str, values: Mapping[str, object], hint: str = COMPARE) -> str:
    """``<templates>/<name>`` rendered with ``values``; ``templates`` is the site's ``templates/``.

    Raises:
        LoadingError: there is no such template, it is broken, or it asks for a value that is not there.
    """
    try:
        return _environment(templates).get_template(name).render(values)
    except TemplateError as error:
        raise LoadingError(
            f"the template cannot be rendered: {type(error).__name__}: {error}", where=str(templates / name), hint=hint
        ) from error


@lru_cache(maxsize=8)
def _environment(templates: Path) -> Environment:
    """A template is compiled once, and again when its file changes."""
    return Environment(
        loader=FileSystemLoader(templates),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701 - configuration files, not HTML
    )
