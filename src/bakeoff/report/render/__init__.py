"""Report rows → HTML, Markdown, LaTeX and figures."""
