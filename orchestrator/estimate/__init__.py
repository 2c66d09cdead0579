"""Pure estimates: memory, throughput, latency and money of a job on hardware. Every constant is cited beside its
use."""
