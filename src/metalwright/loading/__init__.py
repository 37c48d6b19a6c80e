"""Files that people write → models: YAML with positions, lock files, and the whole site cross-checked."""

from metalwright.loading.blueprint_lock import read_blueprint_lock, release
from metalwright.loading.files import read_bytes, read_text, write_atomically
from metalwright.loading.locks import (
    parse_addresses,
    parse_known_good,
    read_addresses,
    read_known_good,
    render_addresses,
    render_known_good,
    write_addresses,
    write_known_good,
)
from metalwright.loading.models import Loaded, load_model, parse_model
from metalwright.loading.repository import SiteReading, load_site, read_site
from metalwright.loading.site_files import SitePaths, linked_trees
from metalwright.loading.trees import tree_digest

__all__ = [
    "Loaded",
    "SitePaths",
    "SiteReading",
    "linked_trees",
    "load_model",
    "load_site",
    "parse_addresses",
    "parse_known_good",
    "parse_model",
    "read_addresses",
    "read_blueprint_lock",
    "read_bytes",
    "read_known_good",
    "read_site",
    "read_text",
    "release",
    "render_addresses",
    "render_known_good",
    "tree_digest",
    "write_addresses",
    "write_atomically",
    "write_known_good",
]
