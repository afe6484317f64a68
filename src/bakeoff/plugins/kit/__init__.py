"""What adapters of stores share: settings, errors, payloads, server connections."""
