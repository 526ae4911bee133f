"""Items on disk, first in, first out."""
