"""Turns the state table: provision, rebuild and plan, locally or from a shared queue."""
