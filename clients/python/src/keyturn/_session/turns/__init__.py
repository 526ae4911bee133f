"""Turns that are held: renewed in time, and told of when they are lost."""
