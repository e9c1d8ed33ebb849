"""Our adapters and transport against servers written by strangers."""
