"""Firmware images that the site has approved: ``firmware/<name>.yaml``, the files beside it in ``firmware/files/``."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field, model_validator

from metalwright.model.base import Frozen, Sha256, Slug, Text
from metalwright.model.blueprint import VersionConstraint

Activation = Literal["immediate", "bmc-restart", "host-reset"]
"""When a new version comes into force: at once, after the BMC's own restart, or at the next reset of the host."""


class FirmwareImage(Frozen):
    """One image. ``version`` is written as the BMC shows it afterwards, since that is how success is proven.

    ``file`` lies in ``firmware/files/``; ``url`` is where a BMC can fetch the same bytes. ``needs`` are versions that
    must be in force before. ``no_return``: the maker allows no way back. ``targeted``: the request names the entries.
    """

    component: Slug
    version: Text
    file: Text | None = None
    url: Text | None = None
    file_sha256: Sha256
    activation: Activation = "immediate"
    needs: dict[Slug, VersionConstraint] = Field(default_factory=dict)
    no_return: bool = False
    is_targeted: bool = Field(default=False, alias="targeted")

    @model_validator(mode="after")
    def _can_be_had(self) -> FirmwareImage:
        if self.file is None and self.url is None:
            raise ValueError(f"firmware {self.component} {self.version} needs a file, a url, or both")
        if self.file is not None and ("/" in self.file or self.file.startswith(".")):
            raise ValueError(f"file {self.file!r} must be a plain name; it lies in firmware/files/")
        return self


class FirmwareRelease(Frozen):
    """The images for some models of server, as their BMCs report the model."""

    schema_version: Literal[1] = Field(alias="schema")
    models: tuple[Text, ...] = Field(min_length=1)
    images: tuple[FirmwareImage, ...] = Field(min_length=1)

    def fits(self, model: str | None) -> bool:
        """Whether these images are for a machine of that model."""
        return model is not None and model.strip().casefold() in {item.casefold() for item in self.models}


class FirmwareUpdate(Frozen):
    """One image on its way to a machine, as the journal knows it.

    ``task`` is the BMC's task, None when it named none. ``task_ended`` and ``reset`` are when the end of the task was
    first seen and when the host was restarted for it. ``outcome`` is None until the version proves it, or it failed.
    """

    component: Slug
    version: Text
    before: Text | None = None
    file_sha256: Sha256
    activation: Activation = "immediate"
    started: datetime
    is_accepted: bool = False
    task: Text | None = None
    task_ended: datetime | None = None
    reset: datetime | None = None
    outcome: Literal["proven", "failed"] | None = None
    why: Text | None = None
