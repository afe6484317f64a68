"""One reader or retriever tried by itself, as a run would use it."""
