"""Uses a finished run: its plan and systems, replayed rankings, a watched baseline; also tries a single
reader or retriever."""
