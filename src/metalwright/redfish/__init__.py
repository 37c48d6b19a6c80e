"""Talking to BMCs: one policy for retries, sessions, entity tags, tasks and errors, under two clients.

The asyncio client (:mod:`metalwright.redfish.async_client`) serves sweeps, the blocking one
(:mod:`metalwright.redfish.blocking_client`) the pyinfra connector. Import them from their modules: asyncio and gevent
must not meet in one process.
"""

from metalwright.redfish.client import Contact, Origin, origin_of
from metalwright.redfish.collections import Collection, Member
from metalwright.redfish.credentials import Credentials, LoginLatch, MemoryLatch
from metalwright.redfish.dialogue import member_uri
from metalwright.redfish.messages import Message, messages_in
from metalwright.redfish.pins import MemoryPins, PinStore
from metalwright.redfish.state import Limits
from metalwright.redfish.tasks import Task
from metalwright.redfish.wire import Response

__all__ = [
    "Collection",
    "Contact",
    "Credentials",
    "Limits",
    "LoginLatch",
    "Member",
    "MemoryLatch",
    "MemoryPins",
    "Message",
    "Origin",
    "PinStore",
    "Response",
    "Task",
    "member_uri",
    "messages_in",
    "origin_of",
]
