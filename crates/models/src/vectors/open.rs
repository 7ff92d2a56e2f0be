//! Word vectors from whatever file has them.

use std::path::Path;

use anyhow::Result;

use super::{Training, WordVectors, is_vectors, read_vectors};
use crate::{FastText, ModelFile, is_fasttext};

impl WordVectors {
    /// Reads the vectors of words: a model of this program, or a file in a format of word2vec or fastText. Models say the last time
    /// of their text, other files do not.
    pub fn open(path: &Path) -> Result<WordVectors> {
        if is_vectors(path)? {
            return read_vectors(path);
        }
        if is_fasttext(path)? {
            return FastText::open(path)?.vectors(Training::default());
        }
        let file = ModelFile::open(path)?;
        if file.header().kind != FastText::KIND {
            return WordVectors::read(&file);
        }
        FastText::from_file(&file)?.vectors(Training::from_file(&file)?)
    }
}

#[cfg(test)]
mod tests {
    use chrono::NaiveDate;
    use serde_json::json;

    use super::*;
    use crate::{Dictionary, FastTextParams, train_words};
    use inkstone_base::job::Ctx;

    #[test]
    fn the_words_of_a_fasttext_model_keep_the_time_of_their_text() {
        let dir = tempfile::tempdir().unwrap();
        let params = FastTextParams { dim: 3, epochs: 1, min_count: 1, bucket: 50, ..FastTextParams::default() };
        let words = vec![("增长".into(), 2), ("减持".into(), 1)];
        let dictionary = Dictionary::new(words, Vec::new(), 3, &params).unwrap();
        let ctx = Ctx::new(1, 1).unwrap();
        let (model, _) = train_words(dictionary, || [&[0, 1, 0][..]].into_iter(), &params, None, &ctx).unwrap();
        let fitted_until = NaiveDate::from_ymd_opt(2024, 5, 6).and_then(|day| day.and_hms_opt(15, 0, 0));
        let training = Training { method: "fasttext".into(), documents: 1, fitted_until, ..Training::default() };
        let [ours, theirs] = ["m.model", "m.bin"].map(|name| dir.path().join(name));
        model.save_model(&ours, &json!(null), &training).unwrap();
        model.save(&theirs).unwrap();
        let [ours, theirs] = [ours, theirs].map(|path| WordVectors::open(&path).unwrap());
        assert_eq!((ours.training(), theirs.training().fitted_until), (&training, None));
        assert_eq!((ours.words(), ours.values()), (theirs.words(), theirs.values()));
        assert_eq!(ours.vector("减持").unwrap(), model.word_vector("减持"));
    }
}
