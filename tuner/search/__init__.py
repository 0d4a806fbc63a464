"""Finds the profile set with the best score in few builds."""
