"""The session: one stream at a time, with every call and turn of a client."""
