"""The networks of a node as files of what configures them on its operating system. Pure.

One description (``attachments``), and a renderer each for systemd-networkd, netplan and NetworkManager.
"""

from metalwright.node_networks.attachments import node_address
from metalwright.node_networks.stacks import STACKS, NetworkStack, network_files, stack_of

__all__ = ["STACKS", "NetworkStack", "network_files", "node_address", "stack_of"]
