"""What a rebuild brings a node to, where that is not what its rack file pins."""

from __future__ import annotations

from metalwright.errors import PlanError
from metalwright.model.base import Frozen, Sha256, Slug, Text, VersionText
from metalwright.model.blueprint import Blueprint
from metalwright.model.repository import SiteRepository

TARGET_VARIABLE = "METALWRIGHT_TARGET"
"""Tells a child process the target of its run, as JSON; without it the rack file's pin counts."""


class TargetImage(Frozen):
    """An image by name, version and digest of the file as served."""

    name: Slug
    version: VersionText
    file_sha256: Sha256


class RebuildTarget(Frozen):
    """A blueprint (``name@version``) and, where it is not the blueprint's own, an image for one node.

    ``source`` says in words where the choice comes from.
    """

    node: Slug
    blueprint: Text
    image: TargetImage | None = None
    source: Text

    def blueprint_in(self, repository: SiteRepository) -> Blueprint:
        """The blueprint with the target's image in it.

        Raises:
            PlanError: the site does not have that blueprint.
        """
        blueprint = repository.blueprints.get(self.blueprint)
        if blueprint is None:
            raise PlanError(
                "the site does not have the blueprint that the node is to be brought to",
                where=self.node,
                expected=f"blueprints/{self.blueprint.replace('@', '/')}.yaml",
                found=", ".join(sorted(repository.blueprints)) or "no blueprint",
                hint=f"take it from git's history, or name another: metalwright rebuild {self.node} --blueprint …",
            )
        if self.image is None:
            return blueprint
        image = blueprint.image.model_copy(update=dict(self.image))
        return blueprint.model_copy(update={"image": image})

    def applied_to(self, repository: SiteRepository) -> SiteRepository:
        """The site as this run sees it. Raises :class:`PlanError` as :meth:`blueprint_in`."""
        return repository.with_blueprint(self.node, self.blueprint_in(repository))

    def is_pinned_in(self, repository: SiteRepository) -> bool:
        """Whether git pins just this, so that nothing has to be held back."""
        return repository.blueprints[repository.node(self.node).blueprint] == self.blueprint_in(repository)

    def describe(self, repository: SiteRepository) -> str:
        """One line for people."""
        image = self.blueprint_in(repository).image
        return f"{self.blueprint}, image {image.name}@{image.version} ({self.source})"
