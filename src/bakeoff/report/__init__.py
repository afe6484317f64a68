"""Reports: a run's stored rows as tables, figures, HTML and Markdown."""
