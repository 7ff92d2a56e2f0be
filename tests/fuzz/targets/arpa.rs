//! ARPA files: what is read is a model whose probabilities are at most 1, and stays the same model through a model file.

use inkstone_models::ModelFile;
use inkstone_models::ngram::{LanguageModel, NgramParams, read_arpa};

use super::{ctx, with_file};

pub(super) fn check(bytes: &[u8]) {
    with_file("m.arpa", bytes, |path| {
        let Ok(model) = read_arpa(path, ctx()) else { return };
        let saved = path.with_extension("model");
        model.save(&saved, &(), &NgramParams::default()).expect("a model that was read can be written");
        let file = ModelFile::open(&saved).expect("a model that was written can be read");
        file.verify().expect("a model that was written is whole");
        let again = LanguageModel::open(file).expect("a model that was written can be read");
        let text = String::from_utf8_lossy(bytes);
        let scores = |model: &LanguageModel| {
            let mut scores = model.scores();
            text.lines().take(40).for_each(|line| scores.push(line.split_ascii_whitespace()));
            scores.score();
            scores.totals().map(|score| (score.log10().to_bits(), score.tokens, score.oov)).collect::<Vec<_>>()
        };
        let found = scores(&model);
        assert_eq!(scores(&again), found);
        assert!(found.iter().all(|&(log10, ..)| !f64::from_bits(log10).is_nan()));
    });
}
