"""The player of the client for threads: the same requests, carried out as a program with threads does."""
