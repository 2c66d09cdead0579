"""Pure estimates: memory, throughput, time and money of a job on an offer."""
