"""Tiny random models with weights in safetensors, and what transformers gives for two texts of tokens.

python3 -m venv venv && venv/bin/pip install torch==2.15.0 transformers==5.23.0 safetensors==0.8.0
venv/bin/python tests/reference/architectures/make.py

Writes a folder a model with config.json and model.safetensors, and expected.json: the vectors after each layer of the tokens that are
not filling, and the logits.
"""

import json
import shutil
from pathlib import Path

import torch
import transformers as t

HERE = Path(__file__).parent
VOCABULARY = 24
TOKENS = [[2, 5, 6, 7, 8, 9, 10, 3], [2, 11, 12, 3]]
PAD = 1

sizes = dict(vocab_size=VOCABULARY, hidden_size=8, num_hidden_layers=2, num_attention_heads=2, intermediate_size=12)
places = dict(max_position_embeddings=16, pad_token_id=PAD)
specials = dict(bos_token_id=2, eos_token_id=3)
bert = {**sizes, **places, **specials}
labels = dict(id2label={0: "negative", 1: "neutral", 2: "positive"}, label2id={"negative": 0, "neutral": 1, "positive": 2})

MODELS = {
    "bert": t.BertModel(t.BertConfig(**bert)),
    "bert-classifier": t.BertForSequenceClassification(t.BertConfig(**bert, **labels)),
    "bert-masked": t.BertForMaskedLM(t.BertConfig(**bert)),
    "bert-half": t.BertForTokenClassification(t.BertConfig(**bert, **labels)).half(),
    "roberta-classifier": t.RobertaForSequenceClassification(t.RobertaConfig(**bert, **labels)),
    "roberta-masked": t.RobertaForMaskedLM(t.RobertaConfig(**bert)),
    "xlm-roberta": t.XLMRobertaModel(t.XLMRobertaConfig(**{**bert, "type_vocab_size": 1})),
    "ernie": t.ErnieModel(t.ErnieConfig(**bert, use_task_id=True, task_type_vocab_size=3)),
    "electra": t.ElectraModel(t.ElectraConfig(**bert, embedding_size=4)),
    "electra-classifier": t.ElectraForSequenceClassification(t.ElectraConfig(**bert, **labels, embedding_size=8)),
    "albert-masked": t.AlbertForMaskedLM(t.AlbertConfig(**bert, embedding_size=4)),
    "distilbert-masked": t.DistilBertForMaskedLM(
        t.DistilBertConfig(vocab_size=VOCABULARY, dim=8, n_layers=2, n_heads=2, hidden_dim=12, **places)
    ),
    "gpt2": t.GPT2LMHeadModel(
        t.GPT2Config(vocab_size=VOCABULARY, n_embd=8, n_layer=2, n_head=2, n_positions=16, **specials)
    ),
    "qwen2": t.Qwen2ForCausalLM(t.Qwen2Config(**sizes, num_key_value_heads=1, **specials, max_position_embeddings=16)),
    "qwen3": t.Qwen3Model(
        t.Qwen3Config(**sizes, num_key_value_heads=1, head_dim=6, **specials, max_position_embeddings=16)
    ).to(torch.bfloat16),
    "modernbert": t.ModernBertForMaskedLM(
        t.ModernBertConfig(
            **{**bert, "num_hidden_layers": 4},
            cls_token_id=2,
            sep_token_id=3,
            local_attention=4,
            layer_types=["full_attention", "sliding_attention", "sliding_attention", "full_attention"],
            reference_compile=False,
        )
    ),
    "modernbert-classifier": t.ModernBertForSequenceClassification(
        t.ModernBertConfig(
            **bert, **labels, cls_token_id=2, sep_token_id=3, layer_types=["full_attention", "sliding_attention"]
        )
    ),
    # Reads in both directions, as gte-Qwen2 does.
    "qwen3-both": t.Qwen3Model(
        t.Qwen3Config(
            **sizes, num_key_value_heads=1, head_dim=6, **specials, max_position_embeddings=16, is_causal=False
        )
    ),
    "gpt2-classifier": t.GPT2ForSequenceClassification(
        t.GPT2Config(
            vocab_size=VOCABULARY, n_embd=8, n_layer=2, n_head=2, n_positions=16, pad_token_id=PAD, **specials, **labels
        )
    ),
}


def main():
    width = max(map(len, TOKENS))
    ids = torch.tensor([row + [PAD] * (width - len(row)) for row in TOKENS])
    mask = torch.tensor([[1] * len(row) + [0] * (width - len(row)) for row in TOKENS])
    expected = {}
    for number, (name, model) in enumerate(MODELS.items()):
        torch.manual_seed(number)
        for weights in model.parameters():
            # Larger than as they are made, so that every part has its say.
            torch.nn.init.normal_(weights, 0.1, 0.4)
        folder = HERE / name
        shutil.rmtree(folder, ignore_errors=True)
        if name == "bert-masked":
            model.tie_weights()
        # A file of halves holds what is computed with here, in single precision.
        model.save_pretrained(folder)
        model = type(model).from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()
        inputs = dict(input_ids=ids, attention_mask=mask)
        with torch.no_grad():
            out = model(**inputs, output_hidden_states=True)
        states = out.hidden_states
        rows = [[layer[row, : len(TOKENS[row])] for row in range(len(TOKENS))] for layer in states]
        one = {"layers": [[round(v, 6) for row in layer for v in row.flatten().tolist()] for layer in rows]}
        if "logits" in out:
            logits = out.logits
            kept = logits if logits.dim() == 2 else torch.cat([logits[i, : len(TOKENS[i])] for i in range(len(TOKENS))])
            one["logits"] = [round(v, 6) for v in kept.flatten().tolist()]
        expected[name] = one
        for file in folder.iterdir():
            if file.name not in ("config.json", "model.safetensors"):
                file.unlink()
    (HERE / "expected.json").write_text(json.dumps({"tokens": TOKENS, "pad": PAD, "models": expected}) + "\n")


main()
