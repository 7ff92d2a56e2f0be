"""What transformers' `generate` finds over a table of logits: `python search.py`, which writes search.json.

The logits of the next token depend on the last two tokens alone, so that a table is a model. Made with transformers 5.23.0, torch
2.15.0."""

import json
from pathlib import Path

import torch
from transformers import GenerationConfig, GenerationMixin, PreTrainedConfig, PreTrainedModel
from transformers.modeling_outputs import CausalLMOutput

TOKENS, END, OTHER_END = 9, 1, 2


class TableConfig(PreTrainedConfig):
    model_type = "table"


class Table(PreTrainedModel, GenerationMixin):
    """A model of `table[before][last]`, the logits of what comes next."""

    config_class = TableConfig
    main_input_name = "input_ids"

    def __init__(self, config, table):
        super().__init__(config)
        self.table = torch.nn.Parameter(table)

    def prepare_inputs_for_generation(self, input_ids, **rest):
        return {"input_ids": input_ids}

    def forward(self, input_ids, **rest):
        before = torch.cat([torch.zeros_like(input_ids[:, :1]), input_ids[:, :-1]], dim=1)
        return CausalLMOutput(logits=self.table[before, input_ids])


def main():
    torch.manual_seed(5)
    table = (torch.randn(TOKENS, TOKENS, TOKENS) * 1.5 * 1000).round() / 1000
    table[:, :, END] += 0.4
    config = TableConfig(vocab_size=TOKENS, is_encoder_decoder=False)
    model = Table(config, table).eval()
    grid = [
        dict(num_beams=1),
        dict(num_beams=1, repetition_penalty=1.7),
        dict(num_beams=1, no_repeat_ngram_size=2, min_new_tokens=9),
    ]
    for early in (True, False, "never"):
        for penalty in (-1.0, 0.0, 0.6, 1.0, 2.0):
            grid.append(dict(num_beams=4, early_stopping=early, length_penalty=penalty))
        grid.append(dict(num_beams=2, early_stopping=early, min_new_tokens=4, length_penalty=1.0))
        grid.append(dict(num_beams=3, early_stopping=early, no_repeat_ngram_size=2, repetition_penalty=1.3, length_penalty=2.0))
        grid.append(dict(num_beams=3, early_stopping=early, eos_token_id=[END, OTHER_END]))
        grid.append(dict(num_beams=3, early_stopping=early, forced_eos_token_id=END, min_new_tokens=3))
        grid.append(dict(num_beams=3, early_stopping=early, eos_token_id=None))
    cases = []
    for prompt in ([0], [4, 3], [7, 5, 6]):
        for options in grid:
            how = dict(max_new_tokens=10, eos_token_id=END, pad_token_id=0) | options
            made = model.generate(
                torch.tensor([prompt]),
                generation_config=GenerationConfig(
                    do_sample=False, num_return_sequences=how["num_beams"], return_dict_in_generate=True, output_scores=True,
                    output_logits=True, use_cache=False, **how,
                ),
            )
            ends = how["eos_token_id"]
            ends = ends if isinstance(ends, list) else [] if ends is None else [ends]
            ids = []
            for row in made.sequences.tolist():
                row = row[len(prompt):]
                cut = next((at for at, token in enumerate(row) if token in ends), len(row))
                ids.append(row[: cut + 1])
            scores = made.sequences_scores.tolist() if how["num_beams"] > 1 else None
            cases.append({"prompt": prompt, "options": how, "ids": ids, "scores": scores})
    reference = {"table": table.tolist(), "cases": cases}
    rounded = json.loads(json.dumps(reference), parse_float=lambda text: round(float(text), 6))
    path = Path(__file__).with_name("search.json")
    path.write_text(json.dumps(rounded, separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
