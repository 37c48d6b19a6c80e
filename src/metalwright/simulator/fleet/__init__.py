"""Thousands of BMCs in one process, each with a resource tree of a profile or of a capture.

``tree``      URI → body, shared by all BMCs of a kind; tokens in it become serials, MACs and UUIDs of one BMC
``binding``   which resources of a tree live: power, boot, BIOS, media, accounts, tasks, firmware
``living``    what they do, one module per noun
``bmc``       one BMC: what is its own
``plan``      which BMCs there are: prefix, count, profiles, faults
``service``   the listener: the destination address of a connection picks the BMC
``control``   the HTTP port through which a test watches and misleads them
"""
