"""Reads production logs of any common form in a stream."""
