"""Shows recommendations and traffic to a person."""
