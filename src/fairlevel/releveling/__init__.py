"""Models that exist, made level without training them again."""
