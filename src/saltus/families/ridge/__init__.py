"""Ridges: terms that are a function of a projection on a few inputs."""
