"""The client for threads: that of asyncio, whose loop runs in a thread of its own."""
