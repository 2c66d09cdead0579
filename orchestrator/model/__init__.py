"""The nouns: frozen, slotted dataclasses that every other package speaks in. No I/O, no clock."""
