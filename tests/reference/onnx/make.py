"""Graphs of tiny models with random weights, and what PyTorch says with them: `python make.py [family ...]`."""

import sys

import broken
import common
import encoders
import generation
import heads
import recurrent

FAMILIES = {
    "bert": encoders.bert,
    "roberta": encoders.roberta,
    "albert": encoders.albert,
    "electra": encoders.electra,
    "deberta": encoders.deberta,
    "unilm": encoders.unilm,
    "unilm-writer": generation.unilm_writer,
    "xlnet": encoders.xlnet,
    "xlnet-mems": encoders.xlnet_mems,
    "mass": encoders.mass,
    "elmo-words": recurrent.elmo_words,
    "elmo-chars": recurrent.elmo_chars,
    "ulmfit": recurrent.ulmfit,
    "gpt2": generation.gpt2,
    "openai-gpt": generation.openai_gpt,
    "bart": generation.bart,
    "t5": generation.t5,
    "bert-classifier": heads.bert_classifier,
    "bert-multilabel": heads.bert_multilabel,
    "bert-tokens": heads.bert_tokens,
    "bert-mlm": heads.bert_mlm,
    "bge-m3": heads.bge_m3,
    "electra-discriminator": heads.electra_discriminator,
    "broken": broken.broken,
}


def main():
    common.quiet()
    for name in sys.argv[1:] or FAMILIES:
        FAMILIES[name]()
        print(name)


if __name__ == "__main__":
    main()
