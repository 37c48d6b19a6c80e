"""The page of the error tree, from the docstring and the classes."""

from __future__ import annotations

import inspect

from metalwright import errors


def render() -> str:
    """Markdown: the tree as drawn in the module, then each class with its meaning and exit code."""
    introduction, _, rest = inspect.cleandoc(errors.__doc__ or "").partition("::\n")
    tree, text = _tree_and_text(rest)
    rows = ["| error | exit code | means |", "|---|---|---|"]
    for name, kind in inspect.getmembers(errors, inspect.isclass):
        if issubclass(kind, errors.MetalwrightError):
            meaning = " ".join(inspect.cleandoc(kind.__doc__ or "").split()).replace("``", "`")
            rows.append(f"| `{name}` | {kind.exit_code} | {meaning} |")
    parts = ["# Errors", introduction.strip(), f"```text\n{tree}\n```", text, "\n".join(rows)]
    return "\n\n".join(parts) + "\n"


def _tree_and_text(rest: str) -> tuple[str, str]:
    lines = rest.splitlines()
    tree = [line for line in lines if line.startswith("    ")]
    text = [line for line in lines if not line.startswith("    ")]
    return inspect.cleandoc("\n".join(tree)), "\n".join(text).strip()
