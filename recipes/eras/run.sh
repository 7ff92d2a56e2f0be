#!/bin/sh
# Trains what the comparisons read, then makes them: workbench.toml (posts), titles.toml, flashes.toml, and a BERT that is trained on.
# INKSTONE names the program if it is not on the PATH. What is there is kept: after an interruption the same command goes on.
set -eu
cd "$(dirname "$0")"
ink=${INKSTONE:-inkstone}
text=../data/text.jsonl

# make FILE COMMAND...: the output of a command, unless it is there; whole or not at all.
make() {
    test -e "$1" && return
    file=$1
    shift
    "$@" > "$file.part"
    mv "$file.part" "$file"
}

# model NAME FLAGS...: a model of `inkstone train`, unless it is there.
model() {
    test -e "$1" && return
    name=$1
    shift
    "$ink" train "$@" --output "$name" --headless
}

python3 ../data.py check text.jsonl posts.jsonl titles.jsonl flashes.jsonl
model w2v.model word2vec --input $text --sg --dim 100 --epochs 10
model sif.model pooling --vectors w2v.model --input $text --pooling sif
model fasttext.model fasttext --input $text --dim 100
model bert bert --input $text --fitted-until 2026-03-15 --layers 2 --hidden 128 --vocabulary 6000 --epochs 3 --lr 0.002
model static static --model bert --input $text --fitted-until 2026-03-15
make posts.json "$ink" experiment --headless
make titles.json "$ink" experiment -c titles.toml --headless
make flashes.json "$ink" experiment -c flashes.toml --headless

# One split of the posts: four fifths train, the last fifth tests.
posts=$(wc -l < ../data/posts.jsonl)
train=$((posts * 4 / 5))
make train.jsonl head -n $train ../data/posts.jsonl
make test.jsonl tail -n +$((train + 1)) ../data/posts.jsonl
model tfidf.model logistic --input train.jsonl --C 0.1,1,10 --cv 5
model textcnn.model textcnn --input train.jsonl
model head.model logistic --model bert --input train.jsonl --C 0.1,1,10 --cv 5
model tuned finetune --base bert --input train.jsonl --fitted-until 2026-03-15 --epochs 4 --batch 16 --lr 0.0005
for name in tfidf textcnn head; do
    make eval-$name.json "$ink" eval --model $name.model --input test.jsonl --headless
done
make eval-tuned.json "$ink" eval onnx --model tuned --input test.jsonl --task labels --headless
