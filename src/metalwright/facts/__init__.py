"""pyinfra facts: what is on a machine, read and never changed."""
