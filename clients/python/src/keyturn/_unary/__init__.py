"""The calls of a worker as unary calls, each by itself. For comparison, and for a single call."""
