"""The client for asyncio, behind `keyturn.aio`."""
