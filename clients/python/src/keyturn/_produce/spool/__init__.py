"""Items on disk: what was confirmed outlives the process, in order."""
