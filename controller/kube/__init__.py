"""The API server over HTTP: what the ports ask for, as requests."""
