"""Careers of leaders: candidacies on one stream, and the worker that is inaugurated, executes and hands over."""
