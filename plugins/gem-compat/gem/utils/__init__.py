"""What gem-llm's environments and tools use, for programs that use it too."""
