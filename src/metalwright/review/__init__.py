"""Two states of a site repository → what the change does to which nodes, and which rules it breaks. Pure."""
