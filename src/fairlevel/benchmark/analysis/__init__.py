"""From rows to answers: which method wins under which budget, by how much, and how sure that is."""
