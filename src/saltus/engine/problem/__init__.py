"""The problem of a fit: data, scaled; the target; criteria; which families."""
