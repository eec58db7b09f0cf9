"""What people see of a study: figures, charts, sections and the page."""
