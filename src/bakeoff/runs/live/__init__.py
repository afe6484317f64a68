"""A finished run in use: plan, systems, replayed rankings, a watched baseline; a reader or retriever tried alone."""
