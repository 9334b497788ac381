"""`make bench-cluster`: the built-in controller and ours on a real control plane with thousands of HPAs."""
