"""A finished run put to use: its plan found again, its systems opened, its rankings replayed, a baseline watched."""
