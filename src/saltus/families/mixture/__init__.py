"""The families of one fit together: what everything outside this package asks."""
