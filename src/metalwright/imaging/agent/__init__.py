"""The deploy ramdisk's agent: writes one verified image to one disk of one identified machine.

Standard library only, and nothing else of metalwright: the package is copied into the ramdisk as it is. The same code
runs against file-backed disks on a workstation (``python -m metalwright.imaging.agent --hardware FILE``).
"""
