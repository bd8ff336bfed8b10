"""An engine on loopback that speaks vLLM's or SGLang's API, for tests and benchmarks."""
