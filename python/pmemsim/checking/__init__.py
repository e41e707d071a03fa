"""Test whether a program is crash-safe, by rules, by a checker of images, or by its own reader."""
