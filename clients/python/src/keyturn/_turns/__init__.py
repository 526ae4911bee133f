"""Turns that are held: kept alive, and told of when they are lost."""
