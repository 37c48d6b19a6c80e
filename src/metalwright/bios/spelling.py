"""An attribute that the registry does not know: what may have been meant."""

from __future__ import annotations

from difflib import get_close_matches

from metalwright.bios.registry import AttributeRegistry


def explain_unknown(registry: AttributeRegistry, written: str) -> str:
    """Why the name is no attribute, with the nearest one."""
    names = registry.by_display.get(written.strip(), ())
    if len(names) > 1:
        return f"is the display name of several attributes: {', '.join(names)}"
    visible = [name for name, attribute in registry.attributes.items() if not attribute.is_hidden]
    folded = {name.lower(): name for name in (*registry.by_display, *visible)}
    close = get_close_matches(written.lower(), folded, n=1, cutoff=0.6)
    return "unknown attribute" + (f"; did you mean {folded[close[0]]!r}?" if close else "")
