//! A model asked about one text: the same as `eval` and `embed` do with files, with the model kept open from one question to the next.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result};

use super::describe::Listed;
use super::encoder::Encoder;
use super::masked::{Guess, MaskedModel};
use super::model::Opening;
use super::params::{OnnxParams, Output};
use super::session::Ran;
use super::windows::OpenWordCutter;
use inkstone_base::bail;
use inkstone_base::job::Ctx;
use inkstone_base::language::Word;
use inkstone_models::cosine;
use inkstone_text::Truncation;

/// Tokens reported for each mask.
const BEST: usize = 10;

/// A slip of this file, should it ever happen.
const OTHER: Word = Word("模型是为另一种问题打开的", "the model was opened for another sort of question");

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Question {
    /// Which tokens stand behind the masks of a text? A mask is written as the model's own token.
    Fill(String),
    /// How near are two texts?
    Compare(String, String),
    /// Which class has a text?
    Classify(String),
    /// Which names are in a text?
    Names(String),
}

#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    /// The likeliest tokens of each mask, by falling probability.
    Fill(Vec<Vec<Guess>>),
    /// The cosine of the vectors; NaN where one text has no token.
    Compare(f64),
    /// The probability of each class, in the model's order.
    Classify(Vec<(String, f64)>),
    /// The names with kind and probability, in the order of the text.
    Names(Vec<(String, String, f64)>),
}

/// An answer, and how it was come by.
#[derive(Clone, Debug)]
pub struct Answered {
    pub reply: Reply,
    pub ran: Ran,
    /// Time that it took, without the opening of the model.
    pub took: Duration,
}

/// Which model, opened for what: another question of the same sort needs no new opening.
#[derive(PartialEq)]
struct Opened {
    params: OnnxParams,
    file: PathBuf,
    written: Option<SystemTime>,
    masks: bool,
}

enum Model {
    Masked(Box<MaskedModel>),
    Encoder(Box<Encoder>),
}

/// Asks models. The one that was asked last stays open.
#[derive(Default)]
pub struct Probe {
    kept: Mutex<Option<(Opened, Model)>>,
}

impl Probe {
    /// Asks a model; `words` says how models of words have their text cut.
    pub fn ask(
        &self,
        listed: &Listed,
        question: &Question,
        words: OpenWordCutter<'_>,
        opening: &Opening<'_>,
        ctx: &Ctx,
    ) -> Result<Answered> {
        let output = match question {
            Question::Fill(_) | Question::Compare(..) => Output::Embedding,
            Question::Classify(_) => Output::Scores,
            Question::Names(_) => Output::Entities,
        };
        let params = OnnxParams { output, ..listed.params() };
        let params = match output {
            Output::Embedding => params,
            // A prompt and a length are for vectors alone.
            _ => OnnxParams { prompt: None, dim: 0, ..params },
        };
        let masks = matches!(question, Question::Fill(_));
        let written = std::fs::metadata(&listed.file).and_then(|meta| meta.modified()).ok();
        let wanted = Opened { file: listed.file.clone(), params, written, masks };
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.as_ref().is_none_or(|(opened, _)| *opened != wanted) {
            // The one before goes first, so that two large models never stand side by side.
            *kept = None;
            let params = &wanted.params;
            let model = match masks {
                true => Model::Masked(Box::new(MaskedModel::open(params, opening)?)),
                false => Model::Encoder(Box::new(Encoder::open(params, Truncation::None, words, opening)?)),
            };
            *kept = Some((wanted, model));
        }
        let (_, model) = kept.as_mut().context(Word("模型应刚打开", "the model was just opened"))?;
        let began = Instant::now();
        let (reply, ran) = match (model, question) {
            (Model::Masked(model), Question::Fill(text)) => {
                (Reply::Fill(model.fill(text, BEST, ctx)?), model.ran().clone())
            }
            (Model::Encoder(model), question) => (answer(model, question, ctx)?, model.ran().clone()),
            (Model::Masked(_), _) => bail!(OTHER),
        };
        Ok(Answered { reply, ran, took: began.elapsed() })
    }
}

fn answer(model: &mut Encoder, question: &Question, ctx: &Ctx) -> Result<Reply> {
    let columns = model.columns();
    let mut rows = |texts: &[&str]| model.rows(texts, ctx, |_| Ok(())).map(|found| found.0);
    Ok(match question {
        Question::Fill(_) => bail!(OTHER),
        Question::Classify(text) => {
            let row = rows(&[text])?;
            // The tone is made of the classes.
            let classes = columns.into_iter().zip(row).filter(|(name, _)| name != "tone");
            Reply::Classify(classes.map(|(name, p)| (name, f64::from(p))).collect())
        }
        Question::Compare(a, b) => {
            let rows = rows(&[a, b])?;
            let (a, b) = rows.split_at(columns.len());
            Reply::Compare(f64::from(cosine(a, b)))
        }
        Question::Names(text) => {
            let found = model.entities(&[text], ctx)?.into_iter().flatten();
            let name = |entity: super::Entity| (entity.label, text[entity.range].to_owned(), f64::from(entity.score));
            Reply::Names(found.map(name).collect())
        }
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::describe::models;
    use super::super::testing::{graph, has_library, opening};
    use super::super::windows::WordCutter;
    use super::*;

    fn listed(model: PathBuf) -> Listed {
        let params = OnnxParams { model, ..OnnxParams::default() };
        models(Path::new(""), &[("one".to_owned(), params)], &Ctx::new(1, 1).unwrap()).unwrap().remove(0)
    }

    fn ask(probe: &Probe, model: &Listed, question: Question) -> Result<Reply> {
        let answered = probe.ask(model, &question, &|| Ok(WordCutter::Spaces), &opening(), &Ctx::new(1, 1).unwrap())?;
        assert_eq!(answered.ran.device, "cpu");
        Ok(answered.reply)
    }

    #[test]
    fn one_model_fills_in_classifies_and_compares() {
        if !has_library() {
            return;
        }
        let demo = listed(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../assets/model"));
        let probe = Probe::default();
        let Reply::Fill(masks) = ask(&probe, &demo, Question::Fill("公司净利[MASK]同比增[MASK]。".into())).unwrap()
        else {
            panic!("masks were asked for")
        };
        assert_eq!(
            (masks.len(), masks[0].len(), masks[0][0].token.as_str(), masks[1][0].token.as_str()),
            (2, BEST, "润", "长")
        );
        let classify = |text: &str| match ask(&probe, &demo, Question::Classify(text.into())).unwrap() {
            Reply::Classify(classes) => classes,
            other => panic!("{other:?}"),
        };
        let good = classify("公司净利润大幅增长，订单饱满。");
        assert!((good.iter().map(|(_, p)| p).sum::<f64>() - 1.0).abs() < 1e-5, "{good:?}");
        assert!(good[2].0 == "positive" && good[2].1 > good[0].1, "{good:?}");
        let compare = |a: &str, b: &str| match ask(&probe, &demo, Question::Compare(a.into(), b.into())).unwrap() {
            Reply::Compare(cosine) => cosine,
            other => panic!("{other:?}"),
        };
        assert!((compare("净利润增长", "净利润增长") - 1.0).abs() < 1e-5);
        assert!(compare("净利润增长", "股东减持") < 0.99);
        assert!(compare("净利润增长", "").is_nan());
    }

    #[test]
    fn what_a_model_cannot_do_is_an_error_that_says_what_it_gives() {
        if !has_library() {
            return;
        }
        let bert = listed(graph("bert"));
        let error = ask(&Probe::default(), &bert, Question::Fill("公司[MASK]".into())).unwrap_err().to_string();
        assert!(error.contains("gives no logits") && error.contains("last_hidden_state"), "{error}");
        let tokens = listed(graph("bert-tokens"));
        assert!(matches!(
            ask(&Probe::default(), &tokens, Question::Names("公司增长".into())).unwrap(),
            Reply::Names(_)
        ));
    }
}
