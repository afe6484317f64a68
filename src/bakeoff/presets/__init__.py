"""The five source systems: settings, imports, exports and decision rules."""
