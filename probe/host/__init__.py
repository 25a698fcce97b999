"""Observe: one file per subject; every function returns plain facts with their evidence and never judges."""
