"""Advise on flushes and fences of a recorded program: which can go, and which are missing."""
