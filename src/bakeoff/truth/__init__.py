"""Truth: rules of a query file, resolved to judgments of documents and character spans."""
