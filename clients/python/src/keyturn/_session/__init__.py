"""Carries calls and keeps turns alive: over one stream at a time, or each call by itself."""
