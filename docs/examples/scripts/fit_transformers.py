"""A training script that calls `train` of Hugging Face's `Trainer`."""

import sys

import torch
from orchestrator_callback import StepCallback
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

texts = torch.randint(100, (4000, 32), generator=torch.Generator().manual_seed(0))
size = BertConfig(
    vocab_size=100, hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=2
)
arguments = TrainingArguments(
    per_device_train_batch_size=int(sys.argv[1]), num_train_epochs=20, save_strategy="no", report_to="none"
)
trainer = Trainer(
    model=BertForSequenceClassification(size),
    args=arguments,
    train_dataset=[{"input_ids": text, "labels": text.sum() % 2} for text in texts],
    callbacks=[StepCallback()],
)
trainer.train()
