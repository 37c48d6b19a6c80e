"""``make demo``: two blank virtual machines become two accepted nodes, and one is brought back from the dead."""
