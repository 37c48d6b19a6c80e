"""What everything else speaks about: frozen models, one module a noun, no I/O."""
