"""The demo: the whole product on one machine, told step by step."""
