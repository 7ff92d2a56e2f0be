//! The kinds of models that the form trains, and their settings under the names of the command line.

use super::words;
use inkstone_base::bounds::{Bound, bound_of};
use inkstone_base::language::{Language, Word};

/// A kind of model that can be trained on plain text.
pub(super) struct ModelKind {
    /// Name after `inkstone train`.
    pub(super) name: &'static str,
    pub(super) settings: &'static [ModelSetting],
}

pub(super) struct ModelSetting {
    /// Flag without dashes.
    pub(super) flag: &'static str,
    pub(super) about: Word,
    /// The value that the form begins with; none if that is the default of the command line.
    pub(super) proposed: Option<&'static str>,
    pub(super) takes: Takes,
}

/// The values that a setting can have.
#[derive(Clone, Copy, Debug)]
pub(super) enum Takes {
    /// A whole number within the bound of this key of `workbench.toml` or flag.
    Whole(&'static str),
    /// A number within such a bound.
    Number(&'static str),
    One(&'static [&'static str]),
    /// The first of two names is said by leaving the flag out, the second by giving it.
    Switch([&'static str; 2]),
    /// Shortest and longest.
    Range,
    /// Limits with commas between, or nothing.
    Limits,
    /// A count, or a share with a point.
    Share,
}

const fn setting(flag: &'static str, about: Word, takes: Takes) -> ModelSetting {
    ModelSetting { flag, about, proposed: None, takes }
}

const DIM: ModelSetting = setting("dim", words::W_DIM, Takes::Whole("feature.word2vec.dim"));
const WINDOW: ModelSetting = setting("window", words::W_WINDOW, Takes::Whole("feature.word2vec.window"));
const EPOCHS: ModelSetting = setting("epochs", words::W_EPOCHS, Takes::Whole("feature.word2vec.epochs"));
const MIN_COUNT: ModelSetting = setting("min-count", words::W_MIN_COUNT, Takes::Whole("feature.words.min_count"));
const NEGATIVE: ModelSetting = setting("negative", words::W_NEGATIVE, Takes::Whole("feature.word2vec.negative"));
const MIN_DF: ModelSetting = setting("min-df", words::W_MIN_DF, Takes::Share);
const MAX_DF: ModelSetting = setting("max-df", words::W_MAX_DF, Takes::Share);
const NGRAM_RANGE: ModelSetting = setting("ngram-range", words::W_NGRAM_RANGE, Takes::Range);

const SMOOTHINGS: [&str; 5] = ["kneser-ney", "katz", "jelinek-mercer", "add-k", "mle"];

/// All kinds, the one that the form begins with first.
pub(super) const KINDS: [ModelKind; 7] = [
    ModelKind {
        name: "word2vec",
        settings: &[
            setting("sg", words::W_ARCHITECTURE, Takes::Switch(["cbow", "skip-gram"])),
            DIM,
            WINDOW,
            NEGATIVE,
            EPOCHS,
            MIN_COUNT,
            setting("sample", words::W_SAMPLE, Takes::Number("feature.word2vec.sample")),
        ],
    },
    ModelKind {
        name: "fasttext",
        settings: &[
            setting("cbow", words::W_ARCHITECTURE, Takes::Switch(["skip-gram", "cbow"])),
            DIM,
            WINDOW,
            NEGATIVE,
            EPOCHS,
            MIN_COUNT,
            // The command's own are for words of letters; Chinese words have two characters.
            ModelSetting {
                proposed: Some("1"),
                ..setting("minn", words::W_MINN, Takes::Whole("feature.fasttext.minn"))
            },
            ModelSetting {
                proposed: Some("3"),
                ..setting("maxn", words::W_MAXN, Takes::Whole("feature.fasttext.maxn"))
            },
        ],
    },
    ModelKind {
        name: "glove",
        settings: &[DIM, WINDOW, EPOCHS, MIN_COUNT, setting("x-max", words::W_X_MAX, Takes::Number("--x-max"))],
    },
    ModelKind { name: "ppmi", settings: &[DIM, WINDOW, MIN_COUNT] },
    ModelKind {
        name: "ngram",
        settings: &[
            setting("order", words::W_ORDER, Takes::Whole("feature.surprise.order")),
            setting("smoothing", words::W_SMOOTHING, Takes::One(&SMOOTHINGS)),
            setting("prune", words::W_PRUNE, Takes::Limits),
        ],
    },
    ModelKind {
        name: "tfidf",
        settings: &[
            NGRAM_RANGE,
            MIN_DF,
            MAX_DF,
            setting("max-features", words::W_MAX_FEATURES, Takes::Whole("feature.tfidf.max_features")),
        ],
    },
    ModelKind { name: "lsa", settings: &[DIM, NGRAM_RANGE, MIN_DF, MAX_DF] },
];

impl ModelSetting {
    pub(super) fn fault(&self, text: &str, language: Language) -> Option<String> {
        let say = |word: Word| word.to(language).to_owned();
        let counts = |least: usize| {
            let numbers: Result<Vec<u32>, _> = text.split(',').map(|number| number.trim().parse::<u32>()).collect();
            numbers.ok().filter(|numbers| numbers.len() >= least)
        };
        match self.takes {
            Takes::Whole(key) | Takes::Number(key) => {
                let is_integer = matches!(self.takes, Takes::Whole(_));
                let Bound { least, most, .. } = bound_of(key)?;
                let number = text.parse::<f64>().ok().filter(|_| !is_integer || text.parse::<u64>().is_ok());
                let fits = number.is_some_and(|value| (least..=most).contains(&&value));
                (!fits)
                    .then(|| format!("{} {least}–{most}", say(if is_integer { words::WHOLE } else { words::NUMBER })))
            }
            Takes::One(choices) => (!choices.contains(&text)).then(|| choices.join(" / ")),
            Takes::Switch(choices) => (!choices.contains(&text)).then(|| choices.join(" / ")),
            Takes::Range => {
                let fits = counts(1).is_some_and(|numbers| {
                    numbers.len() <= 2 && numbers[0] > 0 && numbers[0] <= numbers[numbers.len() - 1]
                });
                (!fits).then(|| say(words::A_RANGE))
            }
            Takes::Limits => (!text.is_empty() && counts(1).is_none()).then(|| say(words::LIMITS)),
            Takes::Share => {
                let count = text.parse::<u64>().is_ok();
                let share = text.contains('.') && text.parse::<f64>().is_ok_and(|share| (0.0..=1.0).contains(&share));
                (!count && !share).then(|| say(words::A_SHARE))
            }
        }
    }
}
