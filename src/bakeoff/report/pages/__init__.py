"""The pages of `bakeoff ann` and `bakeoff scale`."""
