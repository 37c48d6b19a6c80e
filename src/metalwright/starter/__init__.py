"""Files that ``metalwright init`` starts a site repository with, beside the blueprints, deploys and templates."""
