"""Test the simulator itself: random configurations run and crash."""
