"""Measures the numbers and verdicts that are pinned in tests/pins (docs/testing.md)."""
