"""How a prompt becomes tokens: the same for training, held-out accuracy, batch and serving.

A prompt is the only user message of a chat and the completion is the assistant's answer, rendered with the chat
template of the model. vLLM does exactly this for `/v1/chat/completions`, so what was trained is what is served. A model
without a chat template gets the prompt, a line break, and then the completion.
"""

from transformers import PreTrainedTokenizerBase


def messages(prompt: str) -> list[dict[str, str]]:
    """The chat that asks for a completion of `prompt`."""
    return [{"role": "user", "content": prompt}]


def prompt_ids(tokenizer: PreTrainedTokenizerBase, prompt: str) -> list[int]:
    """Tokens up to where the answer starts."""
    if tokenizer.chat_template:
        found = tokenizer.apply_chat_template(
            messages(prompt), add_generation_prompt=True, tokenize=True, return_dict=False
        )
        return [int(token) for token in found]
    return list(tokenizer.encode(f"{prompt}\n"))


def completion_ids(tokenizer: PreTrainedTokenizerBase, completion: str) -> list[int]:
    """Tokens of the answer and the end token, which tells the engine to stop."""
    answer = list(tokenizer.encode(completion, add_special_tokens=False))
    return answer if tokenizer.eos_token_id is None else [*answer, tokenizer.eos_token_id]
