"""A closed loop in virtual time: a load, pods that take their time to start, and the real decision code."""
