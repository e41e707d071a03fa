"""Measures the numbers and verdicts that are pinned in tests/pins (docs/guides/testing.md)."""
