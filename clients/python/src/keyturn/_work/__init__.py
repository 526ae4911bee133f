"""What is built on the calls: scoped turns, consumers, submitting, producers."""
