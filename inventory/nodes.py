"""The operating systems of the site, for plain pyinfra: `pyinfra inventory/nodes.py deploys/software.py`."""

from metalwright.connectors.nodes import node_groups as _node_groups

globals().update(_node_groups())
