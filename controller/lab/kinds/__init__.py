"""What is particular to single kinds: defaults, validation, conversions, custom resources."""
