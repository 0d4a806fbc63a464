"""Decides, confirms and writes down what was found."""
