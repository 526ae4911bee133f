"""Drives the client with what it is told, one line of JSON at a time."""
