//! A masked language model asked what stands behind its masks: a quick look at whether model and tokenizer belong together.

use anyhow::{Context, Result};
use serde::Serialize;

use super::architecture::Wanted;
use super::encoder::ENCODERS;
use super::files::Files;
use super::graph::output;
use super::heads;
use super::model::{Model, Opening};
use super::params::OnnxParams;
use super::session::{Ran, no_output};
use super::windows::{WindowRules, Windows, WordCutter, places};
use inkstone_base::job::Ctx;
use inkstone_base::language::Word;
use inkstone_base::{bail, ensure};
use inkstone_text::Truncation;

/// The logits over the vocabulary of a graph that also gives classes.
pub(super) const WORDS_BESIDE: &str = "mlm_logits";
/// Names that exports give to the logits over the vocabulary.
pub(super) const LOGITS: [&str; 3] = [WORDS_BESIDE, "prediction_logits", "logits"];

/// A masked language model, ready.
pub struct MaskedModel {
    model: Model,
    logits: String,
    limit: usize,
}

/// A token that may stand behind a mask.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Guess {
    pub token: String,
    pub p: f64,
}

impl MaskedModel {
    /// Opens a model that gives logits over its vocabulary.
    pub fn open(params: &OnnxParams, opening: &Opening<'_>) -> Result<MaskedModel> {
        let files = Files { wanted: Wanted::Words, ..Files::new(params, opening.base, &ENCODERS)? };
        let model = Model::open(&files, &|| Ok(WordCutter::Spaces), opening)?;
        let logits = output(model.session.outputs(), &LOGITS, 3);
        let logits = logits.with_context(|| {
            no_output(
                &model.session,
                Word(
                    "掩码语言模型的 logits [文档, 词元, 词表]",
                    "logits [documents, tokens, vocabulary] of a masked language model",
                ),
            )
        })?;
        let (logits, limit) = (logits.name.clone(), model.family.limit.unwrap_or(usize::MAX));
        Ok(MaskedModel { model, logits, limit })
    }

    pub fn ran(&self) -> &Ran {
        self.model.session.ran()
    }

    /// The likeliest tokens behind each mask of a text, `best` of them, by falling probability; equal ones by number.
    pub fn fill(&mut self, text: &str, best: usize, ctx: &Ctx) -> Result<Vec<Vec<Guess>>> {
        let tokenizer = self.model.tokenizer.clone();
        let subword =
            tokenizer.subword().context(Word("以字为单位的模型没有掩码", "a model of characters has no masks"))?;
        let mask = subword.mask_id().context(Word("分词器没有掩码词元", "the tokenizer has no mask token"))?;
        let rules = WindowRules {
            truncation: Truncation::None,
            limit: self.limit,
            stride: 0,
            bare: false,
            prompt: None,
            mask: None,
        };
        let windows = Windows::new(&[text], &tokenizer, &rules, ctx)?;
        let Some(window) = windows.windows.first() else {
            bail!("没有可填空的文本", "there is no text to fill in")
        };
        let numbers = windows.numbers(window);
        let masks: Vec<usize> = (0..numbers.len()).filter(|&token| numbers[token] == mask).collect();
        let name = subword.token(mask).unwrap_or_default();
        ensure!(
            !masks.is_empty(),
            "文本中没有 {name}，或它在模型所读范围之外",
            "no {name} stands in the text, or it lies beyond what the model reads"
        );
        let width = self.model.fixed(1).unwrap_or(window.len());
        let begin = places(window, width, self.model.family.left, false).real.start;
        let logits = self.logits.clone();
        self.model.run(&windows, &[0], [1, width], &[], &[&logits], ctx, |outputs| {
            let given = outputs.get(&logits)?;
            let words = given.shape.last().copied().context(Word("logits 应对应词表", "logits have a vocabulary"))?;
            let guesses = masks.iter().map(|mask| {
                let mut p = given.values[(begin + mask) * words..][..words].to_vec();
                heads::softmax(&mut p);
                let mut order: Vec<usize> = (0..words).collect();
                order.sort_by(|&a, &b| p[b].total_cmp(&p[a]).then(a.cmp(&b)));
                let guess = |&token: &usize| Guess {
                    token: subword.token(token as u32).unwrap_or_default(),
                    p: f64::from(p[token]),
                };
                order.iter().take(best).map(guess).collect()
            });
            Ok(guesses.collect())
        })
    }
}
