"""Products: terms that multiply functions of a few inputs, one of each."""
