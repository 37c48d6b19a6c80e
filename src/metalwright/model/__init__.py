"""The nouns of metalwright: frozen, typed data without I/O."""
