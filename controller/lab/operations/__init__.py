"""What can be done with objects, by the rules of the API server, without any HTTP."""
