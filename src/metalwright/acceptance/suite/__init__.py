"""The pytest suite that runs against one node. Collected by path, in a process of its own."""
