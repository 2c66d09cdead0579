"""A six-layer cut of SmolLM2: small and fast, and of little use until it is fine-tuned."""

from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer
from transformers.utils.logging import disable_progress_bar

LAYERS = 6

README = """\
# smollm2-6layer

The embedding, the **first {layers} of {total} layers** and the final norm of SmolLM2-135M-Instruct (Apache-2.0):
{millions:.1f}M parameters, input and output embeddings tied. The layers above were simply left out: nothing was
distilled, and **as it is this model writes nonsense**. It is a starting point for full fine-tuning on a narrow
task, and the demo's honest "small" model.
"""


def cut(model: Path, target: Path) -> None:
    """Writes the first `LAYERS` layers of the Hugging Face folder `model`, its tokenizer and a README into `target`."""
    disable_progress_bar()
    whole = AutoModelForCausalLM.from_pretrained(model, dtype=torch.float32)
    total = whole.config.num_hidden_layers
    whole.model.layers = whole.model.layers[:LAYERS]
    whole.config.num_hidden_layers = LAYERS
    whole.save_pretrained(target)
    AutoTokenizer.from_pretrained(model).save_pretrained(target)
    millions = sum(weight.numel() for weight in whole.parameters()) / 1e6
    (target / "README.md").write_text(README.format(layers=LAYERS, total=total, millions=millions))
