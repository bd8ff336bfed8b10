"""Helpers for libraries and plugins that run local models; torch is imported on first use."""
