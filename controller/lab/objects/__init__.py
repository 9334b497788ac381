"""What objects, names, selectors, quantities and refusals are, whatever the kind."""
