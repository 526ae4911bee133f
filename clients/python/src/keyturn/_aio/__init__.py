"""The client on its event loop."""
