"""An endpoint on loopback that speaks OpenAI's API, for tests."""
