"""Refusals as Redfish writes them: HTTP status plus messages of the Base registry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]

BASE = "Base.1.18"

# key → (HTTP status, severity, text, what to do)
MESSAGES: dict[str, tuple[int, str, str, str]] = {
    "Success": (200, "OK", "The request was carried out.", "None."),
    "NoOperation": (400, "Warning", "The request asks for nothing.", "Name something to change."),
    "GeneralError": (400, "Critical", "The request failed.", "See the other messages."),
    "InternalError": (500, "Critical", "The service failed while it answered.", "Try again; look into its log."),
    "MalformedJSON": (400, "Critical", "The body is not a JSON object.", "Send a JSON object."),
    "PropertyUnknown": (400, "Warning", "This resource has no property %1.", "Leave it out."),
    "PropertyNotWritable": (400, "Warning", "Property %1 can only be read.", "Leave it out."),
    "PropertyMissing": (400, "Warning", "Property %1 is required.", "Add it."),
    "PropertyValueTypeError": (400, "Warning", "Value %1 of property %2 has the wrong type.", "Correct its type."),
    "PropertyValueFormatError": (400, "Warning", "Value %1 of property %2 has the wrong format.", "Correct it."),
    "PropertyValueNotInList": (400, "Warning", "Value %1 of property %2 is not an allowed one.", "Choose from it."),
    "PropertyValueOutOfRange": (400, "Warning", "Value %1 of property %2 is out of range.", "Stay within it."),
    "PropertyValueError": (400, "Warning", "The value of property %1 is refused.", "Correct it."),
    "StringValueTooLong": (400, "Warning", "Text %1 is longer than %2 characters.", "Shorten it."),
    "StringValueTooShort": (400, "Warning", "Text %1 is shorter than %2 characters.", "Lengthen it."),
    "ActionParameterMissing": (400, "Critical", "Action %1 needs parameter %2.", "Add it."),
    "ActionParameterUnknown": (400, "Warning", "Action %1 has no parameter %2.", "Leave it out."),
    "ActionParameterNotSupported": (400, "Warning", "Parameter %1 of action %2 is not supported.", "Leave it out."),
    "ActionParameterValueNotInList": (400, "Warning", "Value %1 of %2 is not allowed in action %3.", "Choose another."),
    "ActionParameterValueTypeError": (400, "Warning", "Value %1 of %2 in action %3 has the wrong type.", "Correct it."),
    "ResourceMissingAtURI": (404, "Critical", "There is no resource at %1.", "Correct the URI."),
    "OperationNotAllowed": (405, "Critical", "This resource does not take the method.", "See the Allow header."),
    "NoValidSession": (401, "Critical", "The request carries no valid login.", "Log in."),
    "ResourceAtUriUnauthorized": (401, "Critical", "Access to %1 was refused: %2.", "Correct the credentials."),
    "InsufficientPrivilege": (403, "Critical", "The account may not do this.", "Use an account with that privilege."),
    "PasswordChangeRequired": (403, "Critical", "The password must be changed at %1 first.", "PATCH Password there."),
    "ResourceAlreadyExists": (409, "Critical", "A %1 with %2 %3 exists already.", "Use another value."),
    "ResourceInUse": (409, "Warning", "The resource is in use.", "Wait, or free it."),
    "ResourceCannotBeDeleted": (405, "Critical", "The resource cannot be deleted.", "Leave it."),
    "ResourceInStandby": (409, "Critical", "The resource is in standby.", "Power it on first."),
    "ResourceExhaustion": (503, "Critical", "No more of %1 is left.", "Free some."),
    "SessionLimitExceeded": (503, "Critical", "All sessions are taken.", "Close one, then try again."),
    "ServiceTemporarilyUnavailable": (503, "Critical", "The service is busy.", "Try again in %1 seconds."),
    "PreconditionFailed": (412, "Critical", "The resource changed since it was read.", "Read it again."),
    "CouldNotEstablishConnection": (400, "Critical", "No connection to %1.", "Check the URI and the network."),
    "SMC.1.0.PasswordComplexity": (400, "Warning", "The password is too simple.", "Use three kinds of characters."),
    "IDRAC.2.8.LOCK": (403, "Critical", "The system is locked down.", "End the lockdown first."),
    "ResourceAtUriInUnknownFormat": (400, "Critical", "What is at %1 cannot be used.", "Check what is served there."),
}


@dataclass(frozen=True)
class Message:
    """One message: a key of :data:`MESSAGES`, its arguments, and the property that it is about."""

    key: str
    args: tuple[str, ...] = ()
    about: str = ""

    def as_json(self) -> Json:
        """The message as an element of ``@Message.ExtendedInfo``."""
        _, severity, text, resolution = MESSAGES[self.key]
        for position, arg in enumerate(self.args, 1):
            text = text.replace(f"%{position}", f"'{arg}'")
        data: Json = {
            "@odata.type": "#Message.v1_1_2.Message",
            "MessageId": self.key if "." in self.key else f"{BASE}.{self.key}",
            "Message": text,
            "MessageArgs": list(self.args),
            "MessageSeverity": severity,
            "Severity": severity,
            "Resolution": resolution,
        }
        if self.about:
            data["RelatedProperties"] = [f"#/{self.about}"]
        return data


@dataclass
class Refusal(Exception):  # noqa: N818 - an answer of the service, not an error of the program
    """An answer that refuses; the status is that of the first message unless given."""

    messages: tuple[Message, ...]
    status: int | None = None
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def http_status(self) -> int:
        """The HTTP status to answer."""
        return self.status if self.status is not None else MESSAGES[self.messages[0].key][0]

    def as_json(self) -> Json:
        """The error object."""
        first = self.messages[0].as_json()
        only = len(self.messages) == 1
        return {
            "error": {
                "code": first["MessageId"] if only else f"{BASE}.GeneralError",
                "message": first["Message"] if only else MESSAGES["GeneralError"][2],
                "@Message.ExtendedInfo": [message.as_json() for message in self.messages],
            }
        }


def refuse(key: str, *args: object, about: str = "", status: int | None = None) -> Refusal:
    """A refusal with one message, to be raised."""
    return Refusal((Message(key, tuple(str(arg) for arg in args), about),), status)


def refuse_attributes(broken: Sequence[tuple[str, str]], wanted: Mapping[str, Any]) -> Refusal:
    """A refusal of BIOS attributes: (attribute, key of a message), and the values that were asked for."""
    messages = []
    for name, key in broken:
        only_name = key in ("PropertyUnknown", "PropertyNotWritable")
        messages.append(Message(key, (name,) if only_name else (str(wanted[name]), name), f"Attributes/{name}"))
    return Refusal(tuple(messages), status=400)


def success() -> Json:
    """A body that says that an action was carried out."""
    return {"@Message.ExtendedInfo": [Message("Success").as_json()]}
