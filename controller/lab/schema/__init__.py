"""What the fields of each kind are: the one table behind decoding, patches, field ownership and OpenAPI."""
