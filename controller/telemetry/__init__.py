"""What operators see: log lines, published numbers, health."""
