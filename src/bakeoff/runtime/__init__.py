"""Workers and scheduling, events and progress, signals, the HTTP client, the machine and the engines started on it."""
