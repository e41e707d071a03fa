"""Tests that the simulator does on itself: random configurations run and crash."""
