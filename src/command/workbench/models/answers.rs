//! Answers of one model to the questions of the page.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};

use inkstone_base::job::Ctx;
use inkstone_base::language::Word;
use inkstone_base::message;
use inkstone_features::models;
use inkstone_features::standalone::{
    self, Fitted, Known, Line, LineFormat, ProjectionMethod, ProjectionParams, Shown, look_up, nearest_to_sum,
    nearest_words,
};
use inkstone_models::ngram::is_arpa;
use inkstone_models::{Lexicon, Part};
use inkstone_tui::{Answer, AskModel, Plane, PlaneMethod, Question, Surprised};

/// Clusters of the words in the plane, fewer where a cluster would have few words.
const CLUSTERS: usize = 6;
const WORDS_OF_CLUSTER: usize = 6;

/// Makes a model ready to be asked; `tones` colours its words in the plane.
pub(super) fn open(path: &Path, tones: Arc<Lexicon>, ctx: &Ctx) -> Result<AskModel> {
    // An ARPA file does not say how its text was cut; what is typed here is text.
    let format = is_arpa(path)?.then_some(LineFormat::Text);
    let (model, _) = models::open_model(path, format, None, Path::new(""), ctx)?;
    Ok(Arc::new(move |question, ctx| answer(model.as_ref(), &tones, question, ctx)))
}

fn answer(model: &dyn Fitted, tones: &Lexicon, question: &Question, ctx: &Ctx) -> Result<Answer> {
    match question {
        Question::Nearest(word, k) => near(model, std::slice::from_ref(word), |asked| {
            Ok(nearest_words(model, asked, *k, ctx)?.pop().map(|near| near.neighbours).unwrap_or_default())
        }),
        Question::Analogy(words, k) => near(model, words, |asked| {
            let [a, b, c] = asked else {
                inkstone_base::bail!("类比需要三个词", "an analogy needs three words")
            };
            let near = nearest_to_sum(model, &[b.clone(), c.clone()], std::slice::from_ref(a), *k, ctx)?;
            Ok(near.neighbours)
        }),
        Question::MostFrequent(n, by) => plane(model, tones, Shown::Top((*n).max(1)), *by, ctx),
        Question::Around(word, n, by) => {
            if let Some(unknown) = unknown(model, word)? {
                return Ok(unknown);
            }
            let found = nearest_words(model, std::slice::from_ref(word), *n, ctx)?;
            let near = found.into_iter().flat_map(|near| near.neighbours).map(|named| named.name);
            let words: Vec<String> = std::iter::once(word.clone()).chain(near).collect();
            plane(model, tones, Shown::Words(&words), *by, ctx)
        }
        Question::Following(text, k) => {
            let following = model
                .following(text, *k, ctx)
                .context(Word("该模型不能预测下一个词", "this model cannot predict the next word"))??;
            let next = following.next.into_iter().map(|likely| (likely.word, 10f64.powf(likely.log10_prob)));
            Ok(Answer::Following { after: following.after, unknown: following.unknown, next: next.collect() })
        }
        Question::Surprise(text) => {
            let line = Line { number: 1, text: text.as_str().into(), ..Line::default() };
            Ok(Answer::Surprise(model.explain(&line, None)?.terms.into_iter().map(surprised).collect()))
        }
    }
}

/// The words near to those asked for, unless one of these is unknown.
fn near(
    model: &dyn Fitted,
    asked: &[String],
    find: impl FnOnce(&[String]) -> Result<Vec<standalone::Named>>,
) -> Result<Answer> {
    let mut made = Vec::new();
    for word in asked {
        match known(model, word)? {
            Known::Listed => {}
            Known::Made => made.push(word.clone()),
            Known::Unknown(alike) => return Ok(Answer::Unknown(word.clone(), alike)),
        }
    }
    let words = find(asked)?.into_iter().map(|named| (named.name, named.similarity)).collect();
    Ok(Answer::Near { words, made })
}

fn known(model: &dyn Fitted, word: &str) -> Result<Known> {
    look_up(model, word).with_context(|| message!("{} 模型没有词向量", "a {} model has no word vectors", model.name()))
}

fn unknown(model: &dyn Fitted, word: &str) -> Result<Option<Answer>> {
    Ok(match known(model, word)? {
        Known::Unknown(alike) => Some(Answer::Unknown(word.to_owned(), alike)),
        Known::Listed | Known::Made => None,
    })
}

fn plane(model: &dyn Fitted, tones: &Lexicon, shown: Shown<'_>, by: PlaneMethod, ctx: &Ctx) -> Result<Answer> {
    let method = match by {
        PlaneMethod::Pca => ProjectionMethod::Pca,
        PlaneMethod::Tsne => ProjectionMethod::Tsne,
    };
    let mut params = ProjectionParams { method, clusters: CLUSTERS, ..ProjectionParams::default() };
    if let Shown::Words(words) = shown {
        params.clusters = CLUSTERS.min(words.len() / WORDS_OF_CLUSTER);
    }
    let (projection, report) = standalone::project(model, shown, &params, ctx)?;
    let number = |value: &serde_json::Value| value.as_f64().unwrap_or(f64::NAN);
    let fact = |name: &str| report.facts.get(name).cloned().unwrap_or_default();
    let explained = fact("explained");
    let tone = |word: &str| tones.explain(&[word]).iter().map(|hit| hit.weight).sum();
    Ok(Answer::Plane(Plane {
        clusters: projection.groups().map(|group| group.parse().unwrap_or_default()).collect(),
        tones: projection.points().map(|(word, _)| tone(word)).collect(),
        points: projection.points().map(|(word, point)| (word.to_owned(), point)).collect(),
        explained: (method == ProjectionMethod::Pca).then(|| [number(&explained[0]), number(&explained[1])]),
        kept: number(&fact("neighbours_kept")),
        svg: projection.svg()?,
    }))
}

/// Explanations of language models give log10 of a token's probability, as its part or beside it.
fn surprised(part: Part) -> Surprised {
    let detail = |name: &str| part.detail.iter().find(|(other, _)| *other == name).map(|(_, value)| *value);
    let log10 = detail("log10_prob").unwrap_or(part.value);
    Surprised {
        bits: -log10 * std::f64::consts::LOG2_10,
        order: detail("order").map(|order| order as u32),
        unknown: detail("oov").is_some_and(|oov| oov > 0.0),
        token: part.token,
    }
}
