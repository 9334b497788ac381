"""Histories that outlive a process: what of them is kept, how it is written, and how it is taken up again (pure)."""
