"""What production asks for: sizes, how often, and when."""
