"""Optimization profiles, the rules that guess them and the routing between them."""
