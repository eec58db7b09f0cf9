"""Charts as SVG, drawn here, coloured by the page: no script, sharp at any size, right on dark pages and on paper."""
