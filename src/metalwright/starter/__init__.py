"""What a new site repository begins with: files beside the blueprints, deploys and templates, and how it is made."""
