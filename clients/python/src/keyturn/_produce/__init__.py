"""Handing items over: submitting, results, producers and their way over the disk."""
