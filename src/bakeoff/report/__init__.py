"""A run's stored rows as tables, figures, one HTML file and one Markdown file."""
