"""The ways in which a client describes a change, and whose fields are whose."""
