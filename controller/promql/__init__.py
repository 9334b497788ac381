"""PromQL as written by others: understood, confined to a namespace, and printed anew in one unambiguous form."""
