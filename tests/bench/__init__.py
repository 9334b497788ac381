"""What things cost, as ratios to a yardstick measured in the same run: `make bench` (docs/performance.md)."""
