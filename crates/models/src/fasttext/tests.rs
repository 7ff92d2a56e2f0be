//! Against official fastText: files, features, probabilities and vectors; and what is said of damaged files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::dictionary::hash;
use super::*;
use inkstone_base::job::Ctx;

#[derive(Deserialize)]
struct Reference {
    texts: Vec<String>,
    models: BTreeMap<String, Expected>,
}

#[derive(Deserialize)]
struct Expected {
    file: String,
    /// Probability and label, the likeliest first.
    predictions: Vec<Vec<(f32, String)>>,
    sentences: Vec<Vec<f32>>,
    #[serde(default)]
    words: BTreeMap<String, Vec<f32>>,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/reference/fasttext")
}

fn reference() -> Reference {
    serde_json::from_str(include_str!("../../../../tests/reference/fasttext/fasttext.json")).unwrap()
}

fn close(a: &[f32], b: &[f32]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-6)
}

#[test]
fn a_model_that_is_cut_short_or_written_over_while_it_is_used_says_what_it_said() {
    let reference = reference();
    let dir = tempfile::tempdir().unwrap();
    for expected in reference.models.values() {
        let path = dir.path().join(&expected.file);
        std::fs::copy(folder().join(&expected.file), &path).unwrap();
        let model = FastText::open(&path).unwrap();
        // A file that is mapped ends the process here.
        std::fs::File::options().write(true).open(&path).unwrap().set_len(0).unwrap();
        let tokens: Vec<&str> = reference.texts[0].split_ascii_whitespace().collect();
        assert!(close(&model.sentence_vector(&tokens), &expected.sentences[0]), "{}", expected.file);
    }
}

#[test]
fn its_models_say_the_same_here() {
    let reference = reference();
    for (name, expected) in &reference.models {
        let model = FastText::open(&folder().join(&expected.file)).unwrap();
        for (i, text) in reference.texts.iter().enumerate() {
            let tokens: Vec<&str> = text.split_ascii_whitespace().collect();
            let vector = model.sentence_vector(&tokens);
            assert!(close(&vector, &expected.sentences[i]), "{name}, {text}: {vector:?}");
            let Some(predictions) = expected.predictions.get(i) else { continue };
            let ranked = model.likeliest(&tokens, usize::MAX).unwrap_or_default();
            assert_eq!(ranked.len(), predictions.len(), "{name}, {text}");
            for ((label, p), (their_p, their_label)) in ranked.iter().zip(predictions) {
                assert_eq!(&*model.dictionary().labels()[*label as usize], their_label, "{name}, {text}");
                assert!((p - their_p).abs() < 1e-6, "{name}, {text}: {p} is not {their_p}");
            }
        }
        for (word, expected) in &expected.words {
            assert!(close(&model.word_vector(word), expected), "{word}");
        }
    }
}

#[test]
fn files_are_written_as_they_were_read() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("again.bin");
    for expected in reference().models.values() {
        let theirs = std::fs::read(folder().join(&expected.file)).unwrap();
        let model = FastText::open(&folder().join(&expected.file)).unwrap();
        model.save(&path).unwrap();
        let ours = std::fs::read(&path).unwrap();
        if model.is_quantised() {
            // Its map of kept buckets has no order; ours is ordered by row.
            assert_eq!(ours.len(), theirs.len());
            let again = FastText::open(&path).unwrap();
            let texts = reference().texts;
            let tokens: Vec<&str> = texts[0].split(' ').collect();
            assert_eq!(again.probabilities(&tokens), model.probabilities(&tokens));
        } else {
            assert!(ours == theirs, "{}", expected.file);
        }
    }
}

#[test]
fn a_damaged_file_is_refused_with_its_place() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("m.bin");
    let error_of = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        format!("{:#}", FastText::open(&path).unwrap_err())
    };
    for file in ["softmax.bin", "quantised.ftz"] {
        let intact = std::fs::read(folder().join(file)).unwrap();
        for cut in (8..intact.len()).step_by(97) {
            let error = error_of(&intact[..cut]);
            assert!(error.contains("m.bin") && error.contains("ends") || error.contains("byte"), "{cut}: {error}");
        }
        let changed = |at: usize, value: i32| {
            let mut bytes = intact.clone();
            bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
            error_of(&bytes)
        };
        assert!(changed(0, 1).contains("does not begin"));
        assert!(changed(4, 99).contains("version 99"));
        assert!(changed(8, -4).contains("byte 8: the dimension cannot be -4"), "{}", changed(8, -4));
        assert!(changed(8, 5).contains("the input matrix is"), "{}", changed(8, 5));
        assert!(changed(32, 9).contains("byte 32: there is no loss 9"), "{}", changed(32, 9));
        assert!(changed(64, i32::MAX).contains("are not 2147483647"), "{}", changed(64, i32::MAX));
        assert!(error_of(&[&intact[..], b"x"].concat()).contains("1 bytes follow"));
    }
}

#[test]
fn hashes_widen_bytes_with_their_sign() {
    assert_eq!(hash(b""), 2_166_136_261);
    assert_eq!(hash(b"a"), 0xe40c_292c);
    // Unsigned bytes would give another number for all text beyond ASCII.
    let unsigned =
        |bytes: &[u8]| bytes.iter().fold(2_166_136_261u32, |h, &b| (h ^ u32::from(b)).wrapping_mul(16_777_619));
    assert_ne!(hash("股".as_bytes()), unsigned("股".as_bytes()));
}

#[test]
fn features_of_words_and_characters_bear_their_names() {
    let params = FastTextParams { word_ngrams: 2, minn: 1, maxn: 2, bucket: 1000, ..FastTextParams::supervised() };
    let words = vec![("股票".into(), 3), (END_OF_LINE.into(), 3)];
    let dictionary = Dictionary::new(words, vec![("__label__a".into(), 1)], 6, &params).unwrap();
    let tokens = ["股票", "涨"];
    let names: Vec<String> = dictionary.named_features(&tokens).iter().map(|(_, f)| f.name(&tokens)).collect();
    let expected = ["股票", "<股", "股", "股票", "票", "票>", "<涨", "涨", "涨>", "</s>", "股票 涨", "涨 </s>"];
    assert_eq!(names, expected);
    assert_eq!(dictionary.features(&tokens).len(), names.len());
}

#[test]
fn three_characters_in_a_row_are_those_of_the_paper() {
    let params = FastTextParams { minn: 3, maxn: 3, bucket: 1000, ..FastTextParams::supervised() };
    let words = vec![("book".into(), 3), (END_OF_LINE.into(), 3)];
    let dictionary = Dictionary::new(words, vec![("__label__a".into(), 1)], 6, &params).unwrap();
    let tokens = ["book"];
    let names: Vec<String> = dictionary.named_features(&tokens).iter().map(|(_, f)| f.name(&tokens)).collect();
    assert_eq!(names, ["book", "<bo", "boo", "ook", "ok>", "</s>"]);
}

#[test]
fn quantisation_keeps_what_matters() {
    let ctx = Ctx::new(2, 1).unwrap();
    let reference = reference();
    let model = FastText::open(&folder().join("softmax.bin")).unwrap();
    let too_small = QuantiseParams { cutoff: 20, ..QuantiseParams::default() };
    assert!(model.quantised(&too_small, &ctx).unwrap_err().to_string().contains("256 rows"));
    let text: Vec<&str> = reference.texts[0].split(' ').collect();
    let big = FastTextParams { dim: 5, epochs: 1, ..FastTextParams::supervised() };
    let words: Vec<(Box<str>, u64)> = (0..300).map(|i| (format!("词{i}").into(), 300 - i)).collect();
    let labels = vec![("__label__a".into(), 2), ("__label__b".into(), 1)];
    let dictionary = Dictionary::new(words, labels, 300, &big).unwrap();
    let numbers: Vec<u32> = (0..300u32).flat_map(|i| [1, i % 2, i]).collect();
    let starts: Vec<usize> = (0..=300).map(|i| i * 3).collect();
    let (model, _) = train_supervised(dictionary, &Samples::new(&numbers, &starts), &big, None, None, &ctx).unwrap();
    for params in [
        QuantiseParams::default(),
        QuantiseParams { cutoff: 256, qnorm: true, dsub: 2, qout: false },
        QuantiseParams { dsub: 1, ..QuantiseParams::default() },
    ] {
        let small = model.quantised(&params, &ctx).unwrap();
        assert!(small.is_quantised() && small.rows() <= if params.cutoff > 0 { 256 } else { 300 });
        // With a code a value each of 300 values lies near its centroid.
        if params.dsub == 1 {
            for word in ["词0", "词7", "词299"] {
                let (a, b) = (model.word_vector(word), small.word_vector(word));
                assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 0.02), "{word}: {a:?} {b:?}");
            }
        }
        let eight = model.quantised(&params, &Ctx::new(8, 1).unwrap()).unwrap();
        assert_eq!(small.probabilities(&text), eight.probabilities(&text));
        assert!(small.quantised(&params, &ctx).unwrap_err().to_string().contains("already"));
    }
}
