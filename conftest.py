"""Loads the gates: options, fixtures and judging live in kvgate."""

pytest_plugins = ["kvgate.pytest_plugin"]
