"""Files of nodes, rendered from the templates of the site that pyinfra runs in."""

from __future__ import annotations

from collections.abc import Iterable

from metalwright.connectors.bmcs import site_dir
from metalwright.node_files import NodeFile
from metalwright.templates import render

_HINT = "run pyinfra in the site repository, or set METALWRIGHT_SITE; `metalwright init` brings the templates"


def rendered_files(files: Iterable[NodeFile]) -> list[dict[str, str]]:
    """Files of the table in :mod:`metalwright.node_files`, rendered."""
    made = []
    for item in files:
        file = node_file(item.template, item.path, mode=item.mode, **item.values)
        made.append({**file, "check": item.check} if item.check else file)
    return made


def node_file(template: str, path: str, *, mode: str = "644", folder: str = "node", **values: object) -> dict[str, str]:
    """``templates/<folder>/<template>`` rendered with ``values``, for :func:`metalwright.operations.files.rendered`.

    Raises :class:`LoadingError` when the site has no such template or it cannot be rendered.
    """
    text = render(site_dir() / "templates", f"{folder}/{template}", values, _HINT)
    return {"path": path, "text": text, "mode": mode}
