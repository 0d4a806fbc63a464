"""Latencies: how they are taken, stored and read back."""
