"""Spans of OpenTelemetry, where its API is installed."""
