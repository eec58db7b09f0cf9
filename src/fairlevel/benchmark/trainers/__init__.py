"""How methods of the study get their candidates; one file a way."""
