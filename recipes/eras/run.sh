#!/bin/sh
# Trains what the three comparisons read, then makes them: workbench.toml (posts), titles.toml and flashes.toml.
# INKSTONE names the program if it is not on the PATH. What was finished is kept: the same command goes on.
set -eu
cd "$(dirname "$0")"
ink=${INKSTONE:-inkstone}
text=../data/text.jsonl
python3 ../data.py check text.jsonl posts.jsonl titles.jsonl flashes.jsonl
test -e w2v.model || "$ink" train word2vec --input $text --sg --dim 100 --epochs 10 --output w2v.model --headless
test -e sif.model || "$ink" train pooling --vectors w2v.model --input $text --pooling sif --output sif.model --headless
test -e fasttext.model || "$ink" train fasttext --input $text --dim 100 --output fasttext.model --headless
test -e bert || "$ink" train bert --input $text --fitted-until 2026-03-15 --layers 2 --hidden 128 --vocabulary 6000 --epochs 3 --lr 0.002 --output bert --headless
test -e static || "$ink" train static --model bert --input $text --fitted-until 2026-03-15 --output static --headless
"$ink" experiment --headless > posts.json
"$ink" experiment -c titles.toml --headless > titles.json
"$ink" experiment -c flashes.toml --headless > flashes.json
