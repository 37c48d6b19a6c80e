"""Secrets: references to those that people keep, and the one writable store for those that metalwright makes.

A secret travels as :class:`metalwright.secrets.value.Secret`, which shows itself as ``***`` everywhere.
"""
