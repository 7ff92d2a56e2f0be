"""What transformers writes with the model of gpt2/ where only the JSON values of a schema may be written.

    pip install torch transformers tokenizers
    python schema.py

Made with torch 2.15.0, transformers 5.24.0. The schema allows 63 values. The rule of `prefix_allowed_tokens_fn` knows them as json.dumps
writes them: a token may follow where the bytes that are written begin one of them, and the end where they are one.
schema.json: `schema`, `texts`, the ids of greedy search and of a beam search of 3 behind each text, and their JSON.
"""

import json
from pathlib import Path

import torch
import transformers as t
from tokenizers import Tokenizer

HERE = Path(__file__).parent
TEXTS = ["净利润同比增长", "公司", "订单下滑"]
TONES = ["利好", "利空", "中性"]
SCHEMA = {
    "type": "object",
    "properties": {"tone": {"enum": TONES}, "count": {"type": "integer", "minimum": 0, "maximum": 20}},
    "required": ["tone", "count"],
    "additionalProperties": False,
}
VALUES = [json.dumps({"tone": tone, "count": count}, ensure_ascii=False).encode() for tone in TONES for count in range(21)]
END, NEW, BEAMS = 0, 50, 3


def letters():
    """The byte of each character of a byte-level tokenizer."""
    own = [*range(33, 127), *range(161, 173), *range(174, 256)]
    other = [byte for byte in range(256) if byte not in own]
    return {chr(byte): byte for byte in own} | {chr(256 + number): byte for number, byte in enumerate(other)}


def main():
    tokenizer = Tokenizer.from_file(str(HERE / "gpt2/tokenizer.json"))
    model = t.GPT2LMHeadModel.from_pretrained(HERE / "gpt2", attn_implementation="eager").eval()
    byte_of = letters()
    tokens = {token: bytes(byte_of[letter] for letter in name) for name, token in tokenizer.get_vocab().items() if token != END}

    def rule(prompt):
        def allowed(_, ids):
            written = b"".join(tokens[token] for token in ids.tolist()[len(prompt):] if token != END)
            begun = [token for token, more in tokens.items() if any(value.startswith(written + more) for value in VALUES)]
            return begun + [END] * (written in VALUES)
        return allowed

    def write(prompt, beams):
        ids = torch.tensor([prompt])
        how = t.GenerationConfig(
            max_new_tokens=NEW, do_sample=False, num_beams=beams, num_return_sequences=beams, early_stopping=False, length_penalty=1.0,
            bos_token_id=END, eos_token_id=END, pad_token_id=END,
        )
        rows = model.generate(ids, attention_mask=torch.ones_like(ids), generation_config=how, prefix_allowed_tokens_fn=rule(prompt))
        rows = [row[len(prompt):] for row in rows.tolist()]
        return [row[: row.index(END) + 1] if END in row else row for row in rows]

    def value(ids):
        return json.loads(b"".join(tokens[token] for token in ids[:-1]))

    prompts = [tokenizer.encode(text, add_special_tokens=False).ids for text in TEXTS]
    greedy = [write(prompt, 1)[0] for prompt in prompts]
    beams = [write(prompt, BEAMS) for prompt in prompts]
    found = {"schema": SCHEMA, "texts": TEXTS, "greedy": greedy, "beams": beams, "values": [value(ids) for ids in greedy]}
    (HERE / "schema.json").write_text(json.dumps(found, ensure_ascii=False) + "\n", encoding="utf-8")


main()
