"""Writes a recommendation for the tools that build and serve engines, and serves it to Python itself."""
