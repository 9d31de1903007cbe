"""Checks for those who write families of their own."""

from saltus.testing.check import FamilyError, check_family

__all__ = ["FamilyError", "check_family"]
