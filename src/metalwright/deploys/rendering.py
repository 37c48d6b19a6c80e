"""The site's own templates, rendered on the controller."""

from __future__ import annotations

from jinja2 import Environment, FileSystemLoader, StrictUndefined, TemplateError

from metalwright.connectors.bmcs import site_dir
from metalwright.errors import LoadingError


def node_file(template: str, path: str, *, mode: str = "644", **values: object) -> dict[str, str]:
    """``templates/node/<template>`` rendered with ``values``, for :func:`metalwright.operations.files.rendered`.

    Raises :class:`LoadingError` when the site has no such template or it cannot be rendered.
    """
    directory = site_dir() / "templates" / "node"
    environment = Environment(
        loader=FileSystemLoader(directory),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701 - configuration files, not HTML
    )
    try:
        text = environment.get_template(template).render(**values)
    except TemplateError as error:
        raise LoadingError(
            f"the template cannot be rendered: {type(error).__name__}: {error}",
            where=str(directory / template),
            hint="run pyinfra in the site repository, or set METALWRIGHT_SITE; `metalwright init` brings the templates",
        ) from error
    return {"path": path, "text": text, "mode": mode}
