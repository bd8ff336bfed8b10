"""An engine on loopback that speaks vLLM's API, for tests and benchmarks."""
