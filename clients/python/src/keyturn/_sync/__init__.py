"""The client for threads: a facade over the asyncio client, whose loop runs in a thread of its own."""
