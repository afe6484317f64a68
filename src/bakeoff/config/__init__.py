"""bakeoff.yaml and models.toml → a plan of systems; every mistake is reported with its line."""
