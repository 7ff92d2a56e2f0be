//! fastText's files: a model that is read is written as the same bytes again, and can be asked.

use inkstone_models::{FastText, Training};

use super::with_file;

pub(super) fn check(bytes: &[u8]) {
    with_file("m.bin", bytes, |path| {
        let Ok(model) = FastText::open(path) else { return };
        let saved = path.with_extension("saved");
        model.save(&saved).expect("a model that was read can be written");
        let first = std::fs::read(&saved).expect("what was written");
        let again = FastText::open(&saved).expect("a model that was written can be read");
        let second = path.with_extension("second");
        again.save(&second).expect("a model that was read can be written");
        assert_eq!(std::fs::read(&second).expect("what was written"), first);
        let tokens = ["增长", "a", "减持"];
        model.likeliest(&tokens, 5);
        model.probabilities(&tokens);
        model.sentence_vector(&tokens);
        // It has no vectors where it has no words.
        let _ = model.vectors(Training::default());
    });
}
