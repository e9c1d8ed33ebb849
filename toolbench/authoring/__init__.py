"""Writing suites: lint, generated cases, broken arguments."""
