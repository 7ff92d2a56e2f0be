//! Values worked by hand, and distributions that sum to 1.

use proptest::prelude::*;

use super::*;
use crate::ngram::count::{Counter, Room};
use crate::ngram::lm::LanguageModel;
use crate::ngram::words::{END, UNKNOWN};

fn ctx() -> Ctx {
    Ctx::new(2, 1).unwrap()
}

/// The counts of some documents.
pub(in crate::ngram) fn counts(texts: &[impl AsRef<str>], order: usize) -> Counts {
    let mut counter = Counter::new(order, &Room::in_folder(&std::env::temp_dir())).unwrap();
    let mut coder = counter.coder();
    texts.iter().for_each(|text| coder.document(text.as_ref().split_ascii_whitespace(), None));
    let coded = coder.finish();
    counter.take(&coded, &ctx()).unwrap();
    counter.finish(&ctx()).unwrap()
}

/// A model of some documents; Jelinek-Mercer holds out the first.
pub(in crate::ngram) fn trained(texts: &[impl AsRef<str>], params: &NgramParams) -> Ngram {
    let held_out: Vec<String> = texts.iter().take(1).map(|text| text.as_ref().to_owned()).collect();
    smooth(counts(texts, params.order), params, &held_out, &mut Report::default(), &ctx()).unwrap()
}

/// Probabilities asked by words.
struct Asked(LanguageModel);

impl Asked {
    fn new(texts: &[impl AsRef<str>], params: &NgramParams) -> Asked {
        Asked(LanguageModel::new(&trained(texts, params), &ctx()).unwrap())
    }

    fn id(&self, word: &str) -> u32 {
        if word == "</s>" { END } else { self.0.view().vocabulary.id(word.as_bytes()) }
    }

    /// p(word | `<s>` and these words before).
    fn p(&self, before: &str, word: &str) -> f64 {
        let view = self.0.view();
        let state = before
            .split_ascii_whitespace()
            .fold(view.begin(), |state, word| view.index.step(state, self.id(word)).state);
        10f64.powf(f64::from(view.index.step(state, self.id(word)).log10))
    }

    /// The sum over the vocabulary after a context.
    fn sum(&self, before: &[u32]) -> f64 {
        let view = self.0.view();
        let state = before.iter().fold(view.begin(), |state, &word| view.index.step(state, word).state);
        let words = (0..view.index.sizes()[0] as u32).filter(|&word| word != BEGIN);
        words.map(|word| 10f64.powf(f64::from(view.index.step(state, word).log10))).sum()
    }
}

#[track_caller]
fn assert_near(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-6, "{found}, not {expected}");
}

/// Six words counted: 增 and the end twice, 减 and 平 once. V = 5 with `<unk>`.
const TEXTS: [&str; 2] = ["增 减", "增 平"];

fn params(smoothing: Smoothing, order: usize) -> NgramParams {
    NgramParams { order, smoothing, ..NgramParams::default() }
}

#[test]
fn maximum_likelihood_is_as_by_hand() {
    let model = Asked::new(&TEXTS, &params(Smoothing::Mle, 2));
    assert_near(model.p("", "增"), 1.0);
    assert_near(model.p("增", "减"), 0.5);
    assert_near(model.p("增", "增"), 0.0);
    assert_near(model.p("减", "</s>"), 1.0);
    // A context never seen, of an unknown word: single words decide.
    assert_near(model.p("未", "增"), 2.0 / 6.0);
    assert_near(model.p("未", "未"), 0.0);
}

#[test]
fn the_sentences_about_sam_have_the_probabilities_of_the_textbook() {
    // Jurafsky and Martin, Speech and Language Processing, chapter 3.
    let texts = ["I am Sam", "Sam I am", "I do not like green eggs and ham"];
    let model = Asked::new(&texts, &params(Smoothing::Mle, 2));
    assert_near(model.p("", "I"), 2.0 / 3.0);
    assert_near(model.p("", "Sam"), 1.0 / 3.0);
    assert_near(model.p("I", "am"), 2.0 / 3.0);
    assert_near(model.p("I", "do"), 1.0 / 3.0);
    assert_near(model.p("am", "Sam"), 1.0 / 2.0);
    assert_near(model.p("Sam", "</s>"), 1.0 / 2.0);
}

#[test]
fn added_counts_are_as_by_hand() {
    let model = Asked::new(&TEXTS, &params(Smoothing::AddK, 1));
    assert_near(model.p("增", "增"), 3.0 / 11.0);
    assert_near(model.p("", "未"), 1.0 / 11.0);
    let half = NgramParams { k: 0.5, ..params(Smoothing::AddK, 2) };
    let model = Asked::new(&TEXTS, &half);
    assert_near(model.p("增", "减"), 1.5 / 4.5);
    assert_near(model.p("增", "增"), 0.5 / 4.5);
    assert_near(model.p("未", "增"), 1.0 / 5.0);
    let model = Asked::new(&TEXTS, &params(Smoothing::AddK, 3));
    assert_near(model.p("", "增"), 3.0 / 7.0);
    assert_near(model.p("", "未"), 1.0 / 7.0);
    assert_near(model.p("增", "减"), 2.0 / 7.0);
    assert_near(model.p("增 减", "</s>"), 2.0 / 6.0);
    assert_near(model.p("增 减", "增"), 1.0 / 6.0);
    // 减 平 was never seen: uniform, although 平 alone is followed by the end.
    assert_near(model.p("减 平", "</s>"), 1.0 / 5.0);
}

#[test]
fn katz_with_its_fixed_discounts_is_as_by_hand() {
    // No count occurs that Good-Turing needs, so each gives half a count.
    let model = Asked::new(&TEXTS, &params(Smoothing::Katz, 2));
    assert_near(model.p("未", "增"), 1.5 / 6.0);
    assert_near(model.p("未", "减"), 0.5 / 6.0);
    assert_near(model.p("未", "未"), 2.0 / 6.0);
    // 增 after <s>: 1.5 / 2; the other quarter goes to the words whose single probabilities sum to 0.75.
    assert_near(model.p("", "增"), 0.75);
    assert_near(model.p("", "减"), 0.25 / 0.75 * 0.5 / 6.0);
    assert_near(model.p("增", "减"), 0.25);
    assert_near(model.p("增", "增"), 0.5 / (5.0 / 6.0) * 1.5 / 6.0);
}

#[test]
fn a_context_that_nothing_is_taken_from_counts_one_word_more() {
    let texts = ["增 减"; 7];
    let model = Asked::new(&texts, &params(Smoothing::Katz, 2));
    assert_near(model.p("增", "减"), 7.0 / 8.0);
    // 21 words and one more, which is the unknown word's; what 增 leaves goes to all but 减.
    assert_near(model.p("未", "未"), 1.0 / 22.0);
    assert_near(model.p("增", "未"), 1.0 / 8.0 / (1.0 - 7.0 / 22.0) / 22.0);
}

#[test]
fn jelinek_mercer_finds_the_weight_that_makes_held_out_text_most_probable() {
    // p = l f + (1 - l) u with f = 1/2 for 增 and the end, u = 1/3; of 5 held-out words a share q = 1/5 is unknown. The
    // likelihood is largest at l = (1 - q) - q u / (f - u) = 2/5.
    let counts = counts(&["增", "增", "增"], 1);
    let (model, weights) = jelinek_mercer(counts, &["增 增 增 未".to_owned()], &Pruning::default(), &ctx()).unwrap();
    assert_eq!(weights.tokens, 5);
    assert!((weights.by_order[0][2] - 0.4).abs() < 1e-3, "{weights:?}");
    let model = Asked(LanguageModel::new(&model, &ctx()).unwrap());
    assert!((model.p("", "增") - 0.4).abs() < 1e-3 && (model.p("", "未") - 0.2).abs() < 1e-3);
    let perplexity = (0.4f64.powi(4) * 0.2).powf(-0.2);
    assert!((weights.perplexity - perplexity).abs() < 1e-4);
}

#[test]
fn interpolation_adds_up_to_what_the_weights_say() {
    let (model, weights) =
        jelinek_mercer(counts(&TEXTS, 2), &["增 平".into(), "减 未".into()], &Pruning::default(), &ctx()).unwrap();
    let model = Asked(LanguageModel::new(&model, &ctx()).unwrap());
    // 6 words in all: bucket 2; 增 and <s> are followed by 2: bucket 1.
    let [one, two] = [weights.by_order[0][2], weights.by_order[1][1]];
    let word = one * 1.0 / 6.0 + (1.0 - one) / 5.0;
    assert_near(model.p("未", "减"), word);
    assert_near(model.p("增", "减"), two * 0.5 + (1.0 - two) * word);
    assert_near(model.p("增", "未"), (1.0 - two) * (1.0 - one) / 5.0);
}

#[test]
fn weights_need_held_out_text() {
    let error = jelinek_mercer(counts(&TEXTS, 2), &[], &Pruning::default(), &ctx()).err().unwrap().to_string();
    assert!(error.contains("--held-out FILE") && error.contains("--held-out-share"), "{error}");
}

const ALL: [Smoothing; 5] =
    [Smoothing::KneserNey, Smoothing::Katz, Smoothing::JelinekMercer, Smoothing::AddK, Smoothing::Mle];

fn corpora() -> impl Strategy<Value = Vec<String>> {
    let word = prop::sample::select(vec!["甲", "乙", "丙", "丁", "戊"]);
    let document = prop::collection::vec(word, 0..9).prop_map(|words| words.join(" "));
    // With its marks one document is as long as the longest n-grams asked for.
    let long = |texts: &Vec<String>| texts.iter().any(|text| text.split(' ').count() > 1 && !text.is_empty());
    prop::collection::vec(document, 1..12).prop_filter("a corpus has two words in a row", long)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn every_context_sums_to_1(
        texts in corpora(), order in 1usize..5, prune in 0u32..2, k in 0.01f64..3.0,
        contexts in prop::collection::vec(prop::collection::vec(0u32..8, 0..5), 8),
    ) {
        for smoothing in ALL {
            let prune = Pruning(if order > 1 { vec![0, prune] } else { vec![] });
            let model = Asked::new(&texts, &NgramParams { order, smoothing, prune, k, ..NgramParams::default() });
            let words = model.0.view().index.sizes()[0] as u32;
            for context in &contexts {
                let context: Vec<u32> = context.iter().map(|&word| if word < words && word > 2 { word } else { UNKNOWN }).collect();
                let sum = model.sum(&context);
                prop_assert!((sum - 1.0).abs() < 2e-4, "{:?} after {:?}: {}", smoothing, context, sum);
            }
        }
    }

    #[test]
    fn the_index_gives_what_the_definition_gives(texts in corpora(), order in 1usize..5, asked in corpora(), prune in 0u32..2) {
        let prune = Pruning(if order > 2 { vec![0, 0, prune] } else { vec![] });
        let model = trained(&texts, &NgramParams { order, prune, ..NgramParams::default() });
        let ready = LanguageModel::new(&model, &ctx()).unwrap();
        let mut scores = ready.scores();
        asked.iter().for_each(|text| scores.push(text.split_ascii_whitespace()));
        scores.score();
        for (words, scored) in scores.documents() {
            let mut context = vec![BEGIN];
            for (&word, scored) in words.iter().zip(scored) {
                let (log10, order) = defined(&model, &context, word);
                prop_assert!((scored.log10 - log10).abs() < 1e-5, "{} and {}", scored.log10, log10);
                prop_assert_eq!(scored.order, order);
                context.push(word);
            }
        }
    }
}

/// log10 p(word | context) by the definition of a back-off model, and the order of the n-gram that gives it.
fn defined(model: &Ngram, context: &[u32], word: u32) -> (f32, u32) {
    let context = &context[context.len().saturating_sub(model.order() - 1)..];
    let full_ngram = [context, &[word]].concat();
    if let Some(entry) = model.trie.find(&full_ngram) {
        return (model.log10[context.len()][entry as usize], full_ngram.len() as u32);
    }
    let weight = model.trie.find(context).map_or(0.0, |entry| model.backoff[context.len() - 1][entry as usize]);
    let (log10, order) = defined(model, &context[1..], word);
    (weight + log10, order)
}
