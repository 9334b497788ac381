"""The HTTP side: requests in, objects, lists, tables and streams of events out."""
