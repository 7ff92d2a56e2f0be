"""Makes word2vec.json: what gensim derives from counts before it trains (code lengths of its Huffman tree, the threshold on 32
random bits below which a word stays). `python3 word2vec.py > word2vec.json`; made with gensim 4."""

import json

from gensim.models import Word2Vec

counts = [4000 // rank for rank in range(1, 61)]
words = {f"w{i:02}": count for i, count in enumerate(counts)}
model = Word2Vec(vector_size=4, hs=1, negative=0, sample=1e-2, min_count=1)
model.build_vocab_from_freq(words)
order = model.wv.index_to_key
print(json.dumps({
    "sample": 1e-2,
    "counts": [int(model.wv.get_vecattr(word, "count")) for word in order],
    "code_lengths": [len(model.wv.get_vecattr(word, "code")) for word in order],
    "sample_int": [int(model.wv.get_vecattr(word, "sample_int")) for word in order],
}))
