"""The connection to a sidecar, and a call on it as a future."""
