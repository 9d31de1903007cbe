"""Model files and checkpoints: arrays and JSON, no pickle."""
