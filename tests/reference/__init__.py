"""Optima of small problems, found by a general convex solver, that the fits are held against."""
