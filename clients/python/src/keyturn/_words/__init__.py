"""The words: what is asked and answered, checked, and as the wire has it."""
