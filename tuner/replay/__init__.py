"""Plays the traffic over measured latencies and scores what comes out."""
