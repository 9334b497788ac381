"""Where objects live: one state, one revision counter, a bounded memory of changes."""
