"""Training or fine-tuning of any Hugging Face causal language model."""
