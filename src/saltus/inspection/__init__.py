"""What a fitted model says: summaries, formulas, curves, diagnostics."""
