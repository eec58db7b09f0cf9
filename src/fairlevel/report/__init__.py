"""HTML reports: a page is a value, and one template turns it into one self-contained file."""
