"""The controller: observe, decide, record, act; and its HTTP API."""
