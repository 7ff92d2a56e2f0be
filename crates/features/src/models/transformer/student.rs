//! A small encoder that learns to give the scores of a large model (Hinton, Vinyals and Dean 2015), on text without labels.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use chrono::NaiveDateTime;
use serde_json::json;

use super::texts::{TextWriter, inputs, room};
use super::tuning::Tuning;
use super::{seen_by, seen_by_new, tokenizer_of};
use crate::lines::{BLOCK, LineFormat, Lines, Refused};
use crate::models::onnx::Contextual;
use crate::stage_result;
use inkstone_base::data::{Key, Report};
use inkstone_base::disk::{self, Room};
use inkstone_base::job::Ctx;
use inkstone_base::{ensure, message};
use inkstone_models::largest;
use inkstone_models::transformer::{EncoderFolder, Goals, TaughtClasses, TextGoal, TransformerParams};
use inkstone_onnx::{Activation, Encoder, OnnxParams, Output};
use inkstone_text::subword::Subword;

/// Settings of `train student`.
#[derive(Clone, Debug)]
pub struct StudentParams {
    /// The encoder that becomes the student.
    pub base: PathBuf,
    /// Tokens that the student reads of a text at most, special tokens included, the first ones; 0: as many as the base has places.
    pub max_tokens: usize,
    pub temperature: f64,
    /// The last time of the texts of the base and of the teacher, where their folders do not say it, and of lines without a time.
    pub fitted_until: Option<NaiveDateTime>,
    pub training: TransformerParams,
}

/// A document that both models read.
struct TaughtDocument {
    time: Option<NaiveDateTime>,
    tokens: Vec<u32>,
    /// The logarithm of the probability that the teacher gives each class, which is its score but for a constant.
    scores: Vec<f32>,
}

/// Trains the base to give the scores of the teacher at `using.params.model`, and writes its folder. Lines with times are put in their order, and
/// the last ones are held out. An interrupted training leaves a checkpoint beside the folder, from which the same training goes on. The report
/// has `documents`, `fitted_until`, `classes`, `parameters`, `epochs`, and `agreement`: the share of held-out documents whose most probable class
/// is the same by both models.
pub fn student(
    lines: &mut Lines,
    using: &Contextual,
    params: &StudentParams,
    output: &Path,
    ctx: &Ctx,
) -> Result<Report> {
    ensure!(
        params.temperature > 0.0 && params.temperature.is_finite(),
        "--temperature {} 须大于 0",
        "--temperature {} must lie above 0",
        params.temperature
    );
    let base = EncoderFolder::open(&params.base)?;
    let seen = seen_by(&base.files, params.fitted_until)?.max(teacher_seen(using, params.fitted_until)?);
    disk::is_ours(output, Room::Converted)?;
    let subword = tokenizer_of(&base.files, base.shape.vocabulary)?;
    let room = room(&subword, params.max_tokens, base.most_tokens())?;
    let scores = OnnxParams { output: Output::Scores, activation: Activation::Auto, ..using.params.clone() };
    let using = Contextual { params: scores, ..using.clone() };
    let mut teacher = using.encoder(&using.params.model, LineFormat::Text, ctx)?;
    let names = teacher.columns();
    ensure!(
        names.len() > 1 && !teacher.labels_stand_alone(),
        "{} 给出 {} 个互不排斥的分数；学生模型学的教师须给每篇文本一个类别",
        "{} gives {} scores that do not exclude each other; a student learns from a teacher of classes, of which a text has one",
        using.params.model.display(),
        names.len()
    );
    let (documents, mut report) = stage_result(ctx, "read", "docs", None, || {
        let documents = read_documents(lines, &mut teacher, &subword, room, ctx)?;
        Ok(((documents, lines.finish()?), Report::new("read")))
    })?;

    let mut writer = TextWriter::new(output)?;
    documents.iter().try_for_each(|document| writer.push(&document.tokens))?;
    let texts = writer.finish()?;
    let scores: Vec<f32> = documents.iter().flat_map(|document| document.scores.iter().copied()).collect();
    let heads = base.of_texts(TextGoal::Classes(names.len())).into();
    let tuning = Tuning { base: &base, heads, texts: &texts, params: &params.training, output };
    let known_by = json!([Key::of(bytemuck::cast_slice(&scores)), params.temperature]);
    let goals = Goals::Taught(TaughtClasses { scores, classes: names.len(), temperature: params.temperature });
    let tuned = tuning.train(goals, &known_by, ctx)?;

    let held_out = &documents[tuning.first_held_out()..];
    let own = tuning.held_out_scores(&tuned, ctx)?;
    let both = own.chunks(names.len()).zip(held_out);
    let agreed = both.filter(|(own, document)| largest(own) == largest(&document.scores)).count();
    let agreement = (!held_out.is_empty()).then(|| agreed as f64 / held_out.len() as f64);
    let last = documents.iter().filter_map(|document| document.time).max();
    let fitted_until = seen_by_new(Some(seen), last, params.fitted_until);
    let training = json!({
        "base": params.base, "teacher": using.params.model, "documents": documents.len(), "epochs": tuned.model.epochs(), "agreement": agreement,
        "program": env!("CARGO_PKG_VERSION"),
    });
    tuning.write(&tuned, &names, fitted_until, &training)?;
    report.fact("documents", documents.len());
    report.fact("fitted_until", fitted_until);
    report.fact("classes", &names);
    report.fact("parameters", tuned.model.values().iter().map(|values| values.len()).sum::<usize>());
    report.fact("epochs", tuned.model.epochs());
    report.fact("agreement", agreement);
    report.fact("ran", teacher.ran());
    Ok(report)
}

/// The last time of the text that a teacher was trained on.
fn teacher_seen(using: &Contextual, stated: Option<NaiveDateTime>) -> Result<NaiveDateTime> {
    let own = using.params.seen_until(&using.base)?;
    own.max(stated).with_context(|| {
        message!("{} 没有说明训练文本截至何时，而学生模型也知道那些文本：请用 --fitted-until 给出最后一天", "{} does not say how far the text reaches that it was trained on, and its student knows that text too: give its last day with --fitted-until", using.params.model.display())
    })
}

/// The documents of lines, by time; in the order of the lines where one has no time. Lines that a model cannot read are set aside.
fn read_documents(
    lines: &mut Lines,
    teacher: &mut Encoder,
    subword: &Subword,
    room: usize,
    ctx: &Ctx,
) -> Result<Vec<TaughtDocument>> {
    let (mut all, mut left_out) = (Vec::new(), Vec::new());
    lines.for_each_block(BLOCK, |read| {
        let texts: Vec<_> = read.iter().map(|line| line.whole()).collect();
        let given: Vec<&str> = texts.iter().map(|text| &**text).collect();
        let (scores, _) = teacher.rows(&given, ctx, |_| Ok(ctx.check()?))?;
        let classes = scores.len() / given.len().max(1);
        for ((line, text), scores) in read.iter().zip(&given).zip(scores.chunks(classes.max(1))) {
            let tokens = inputs(subword, text, room, None)?.into_iter().next();
            match tokens.filter(|_| scores.iter().all(|score| score.is_finite())) {
                Some(tokens) => {
                    let scores = scores.iter().map(|score| score.max(f32::MIN_POSITIVE).ln()).collect();
                    all.push(TaughtDocument { time: line.time, tokens, scores });
                }
                None => left_out.push(Refused { number: line.number, reason: "without text that both models read" }),
            }
        }
        Ok(ctx.advance(read.len() as u64)?)
    })?;
    lines.refuse(left_out);
    if all.iter().all(|document| document.time.is_some()) {
        all.sort_by_key(|document| document.time);
    }
    Ok(all)
}
