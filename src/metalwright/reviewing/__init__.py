"""A review of two states of a site: read, judged, rendered and compared. The edge around ``metalwright.review``."""

from metalwright.reviewing.circumstances import Circumstances
from metalwright.reviewing.states import review_revisions, review_states

__all__ = ["Circumstances", "review_revisions", "review_states"]
