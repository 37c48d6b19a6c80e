"""Programs that run on nodes: they are sent there as they are and use the standard library alone."""
