"""Real engines for tests and trials, started on this machine without containers.

A server is one short file with a subclass of `base.Server`, and one line in `control.TABLE`.
"""
