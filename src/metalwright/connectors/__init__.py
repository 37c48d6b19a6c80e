"""pyinfra connectors and inventories: how pyinfra reaches BMCs and systems, named as pyinfra names its own folder."""
