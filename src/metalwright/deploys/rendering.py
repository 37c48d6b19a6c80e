"""Files of nodes, rendered from the templates of the site that pyinfra runs in."""

from __future__ import annotations

from collections.abc import Iterable

from metalwright.connectors.bmcs import site_dir
from metalwright.node_files import NodeFile
from metalwright.templates import render

_HINT = "run pyinfra in the site repository, or set METALWRIGHT_SITE; `metalwright init` brings the templates"


def rendered_files(files: Iterable[NodeFile], folder: str = "node") -> list[dict[str, str]]:
    """``templates/<folder>/<template>`` of each file, for :func:`metalwright.operations.files.rendered`.

    Raises :class:`LoadingError` when the site has no such template or it cannot be rendered.
    """
    made = []
    for item in files:
        text = render(site_dir() / "templates", f"{folder}/{item.template}", item.values, _HINT)
        file = {"path": item.path, "text": text, "mode": item.mode}
        made.append({**file, "check": item.check} if item.check else file)
    return made


def node_file(template: str, path: str, **values: object) -> dict[str, str]:
    """One file of ``templates/node``, as :func:`rendered_files` makes it."""
    return rendered_files([NodeFile(template, path, values)])[0]
