"""Advise on flushes and fences of a recording: which can be removed, and which are missing."""
