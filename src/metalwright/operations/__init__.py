"""pyinfra operations: compare with the machine and yield what is missing."""
