"""Tests of lint, case making, mutations, and of the shipped suites against the scorer."""
