"""What transformers' question-answering pipeline and its script for SQuAD make of a tiny random model: answers.json.

python3 -m venv venv && venv/bin/pip install torch==2.15.0 transformers==4.57.3 (the last version with the pipeline)
venv/bin/python tests/reference/pairs/answers.py

`best` follows postprocess_qa_predictions of transformers' examples/pytorch/question-answering/utils_qa.py: candidates of all windows,
by the sum of their logits; the null score is the least of the windows' first tokens. The pipeline's score is kept where a text has one
window, as it compares probabilities of different windows."""

import json
from pathlib import Path

import torch
import transformers as t

HERE = Path(__file__).parent
QUESTION = "净利润增长多少？"
CONTEXTS = [
    "净利润同比增长",
    "公司拟回购股份，金额不超过3亿元。",
    "受上游材料涨价和订单下滑影响，公司上半年营业收入同比下降，毛利率降至近年低位；管理层称，新产品将于年底投产，全年业绩预计好于市场预期。",
    "金额3.5亿元，上半年增长12%，下半年增长3%，全年预计增长8%。公司回购股份，金额不超过12亿元，订单增长35%。",
]
LIMIT, STRIDE, LONGEST, BEST = 40, 15, 8, 1000


def best(tokenizer, model, context):
    content = LIMIT - 3 - len(tokenizer(QUESTION, add_special_tokens=False)["input_ids"])
    cut = tokenizer(
        QUESTION, context, truncation="only_second", max_length=LIMIT, stride=content - STRIDE, padding=True,
        return_overflowing_tokens=True, return_offsets_mapping=True, return_tensors="pt",
    )
    with torch.no_grad():
        given = model(cut["input_ids"], cut["attention_mask"], cut["token_type_ids"])
    spans, null = [], None
    for window in range(len(cut["input_ids"])):
        starts, ends = given.start_logits[window].numpy(), given.end_logits[window].numpy()
        places = [
            place if text == 1 else None for place, text in zip(cut["offset_mapping"][window].tolist(), cut.sequence_ids(window))
        ]
        score = float(starts[0] + ends[0])
        null = score if null is None or score < null else null
        for first in (-starts).argsort()[:BEST]:
            for last in (-ends).argsort()[:BEST]:
                if places[first] is None or places[last] is None or last < first or last - first + 1 > LONGEST:
                    continue
                spans.append((float(starts[first] + ends[last]), places[first][0], places[last][1]))
    score, start, end = max(spans, key=lambda span: span[0])
    return {"answer": context[start:end], "start": start, "logit": score, "null": null - score}, len(cut["input_ids"])


def main():
    folder = HERE / "answers"
    tokenizer = t.PreTrainedTokenizerFast(
        tokenizer_file=str(folder / "tokenizer.json"), pad_token="[PAD]", cls_token="[CLS]", sep_token="[SEP]",
        model_max_length=LIMIT, model_input_names=["input_ids", "token_type_ids", "attention_mask"],
    )
    model = t.BertForQuestionAnswering.from_pretrained(folder).eval()
    pipe = t.pipeline("question-answering", model=model, tokenizer=tokenizer)
    cases = []
    for context in CONTEXTS:
        found, windows = best(tokenizer, model, context)
        found["context"], found["score"] = context, None
        if windows == 1:
            one = pipe(question=QUESTION, context=context, max_seq_len=LIMIT, doc_stride=5, max_answer_len=LONGEST)
            assert (one["answer"], one["start"]) == (found["answer"], found["start"]), (one, found)
            found["score"] = one["score"]
        cases.append({key: float(f"{value:.7g}") if isinstance(value, float) else value for key, value in found.items()})
    made = {"question": QUESTION, "stride": STRIDE, "max_answer": LONGEST, "cases": cases}
    (HERE / "answers.json").write_text(json.dumps(made, ensure_ascii=False) + "\n", encoding="utf-8")


main()
