"""Pages in the browser: a page is a value, then one template makes one self-contained file of it."""
