//! A fitted classifier as `eval`, `embed` and `explain` use it.

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::Classifier;
use super::LabelledCorpus;
use crate::fitted::Opened;
use crate::fitted::{Columns, EvalParams, Figures, Fitted, Rows, place_of_class};
use crate::lines::{Cutter, Line, Lines};
use crate::models::tfidf::plain::fields;
use inkstone_base::data::Report;
use inkstone_base::job::Ctx;
use inkstone_base::language::{Message, Word};
use inkstone_base::message;
use inkstone_models::{
    Analyzer, Contributions, Csr, Design, Estimator, Explanation, Guess, Link, ModelFile, ModelHeader, Part, Row, Task,
};

/// A classifier of a file, and the analyzer that its documents are read with.
pub(crate) fn open(file: &ModelFile, cutter: &Cutter) -> Result<Opened<Classifier, Analyzer>> {
    let model = Classifier::read(file)?;
    let params = model.vectorizer.params().clone();
    Opened::of_rows(file, model, &params, cutter)
}

impl Opened<Classifier, Analyzer> {
    fn row(&self, line: &Line<'_>) -> Vec<(u32, f32)> {
        self.model.vectorizer.transform(&self.cutter, fields(line))
    }

    fn names(&self) -> &[String] {
        self.model.estimator.task.names()
    }

    /// The class to explain, and the one that it is held against where classes share one softmax.
    fn pair(&self, row: &Design, of: Option<&str>) -> Result<(usize, Option<usize>)> {
        let estimator = &self.model.estimator;
        let guess = estimator.guess(row);
        let best = |skip: Option<usize>| {
            let places = (0..guess.columns).filter(|c| Some(*c) != skip);
            places.max_by(|&a, &b| guess.log_odds[a].total_cmp(&guess.log_odds[b]).then(b.cmp(&a)))
        };
        let class = match of {
            None => best(None).context(Word("估计器应有输出", "an estimator has an output"))?,
            Some(name) => place_of_class(self.names(), name)?,
        };
        let against = if estimator.link == Link::Joint { best(Some(class)) } else { None };
        Ok((class, against))
    }

    fn formula(&self, of: usize, against: Option<usize>) -> Message {
        let estimator = &self.model.estimator;
        let name = |c: usize| self.names()[c].as_str();
        let what = match (&estimator.task, against, estimator.link) {
            (Task::Values, ..) => Word("预测值", "value").into(),
            (_, Some(against), _) => Message::same(format!("ln(p({}) / p({}))", name(of), name(against))),
            (Task::Classes(names), None, Link::Margin) if names.len() == 2 => {
                message!("偏向 {} 的间隔", "margin towards {}", name(of))
            }
            (_, None, Link::Margin) => message!("{} 对其余的间隔", "margin of {} against the rest", name(of)),
            _ => Message::same(format!("ln(p({0}) / (1 - p({0})))", name(of))),
        };
        let calibrated = match (estimator.is_calibrated(), estimator.explains_calibrated()) {
            (true, true) => Word("（经 sigmoid 校准）", ", calibrated by a sigmoid"),
            (true, false) => Word("（校准前）", " before calibration"),
            (false, _) => Word("", ""),
        };
        match estimator.method.contributions() {
            Contributions::ShapleyValues => {
                message!(
                    "{what}{calibrated} = 训练文档的均值 + 各词的 Shapley 值之和",
                    "{what}{calibrated} = mean over the training documents + sum of the terms' Shapley values"
                )
            }
            Contributions::IntegratedGradients => {
                message!(
                    "{what}{calibrated} = 没有词的文本的得分 + 各词的积分梯度之和",
                    "{what}{calibrated} = score of a text without terms + sum of the terms' integrated gradients"
                )
            }
            Contributions::Weights => message!(
                "{what}{calibrated} = intercept + 各词 weight x tfidf 之和；tfidf = {}",
                "{what}{calibrated} = intercept + sum of weight x tfidf; tfidf = {}",
                self.model.vectorizer.formula()
            ),
        }
    }
}

impl Fitted for Opened<Classifier, Analyzer> {
    fn header(&self) -> &ModelHeader {
        &self.header
    }

    fn columns(&self) -> Result<Columns> {
        Ok(columns(&self.model.estimator))
    }

    fn rows(&self, lines: &[Line<'_>]) -> Result<Rows> {
        let mut x = Csr::new(self.model.vectorizer.width());
        lines.iter().for_each(|line| x.push_row(self.row(line)));
        Ok(table(&self.model.estimator, self.model.estimator.guess(&x.into())))
    }

    fn explain(&self, line: &Line<'_>, of: Option<&str>) -> Result<Explanation> {
        let estimator = &self.model.estimator;
        let row = self.row(line);
        let mut x = Csr::new(self.model.vectorizer.width());
        x.push_row(row.iter().copied());
        let (of, against) = self.pair(&x.into(), of)?;
        let (indices, values): (Vec<u32>, Vec<f32>) = row.into_iter().unzip();
        let (intercept, parts) = estimator.explain(Row { indices: &indices, values: &values }.into(), of, against);
        let part = |(column, value): (u32, f64)| {
            let here = indices.binary_search(&column).map_or(0.0, |at| f64::from(values[at]));
            let mut detail = vec![("tfidf", here)];
            if estimator.linear().is_some() {
                detail.push(("weight", if here == 0.0 { 0.0 } else { value / here }));
            }
            Part { token: self.model.vectorizer.name(column), value, detail }
        };
        let terms: Vec<Part> = parts.into_iter().map(part).collect();
        let score = intercept + terms.iter().map(|part| part.value).sum::<f64>();
        let named = self.names().get(of).map(|name| match against {
            Some(against) => format!("{name} over {}", self.names()[against]),
            None => name.clone(),
        });
        let formula = self.formula(of, against);
        Ok(Explanation { of: named, formula, score, intercept, terms, ..Explanation::default() }.largest_first())
    }

    fn evaluate(&self, lines: &mut Lines, params: &EvalParams, ctx: &Ctx) -> Result<(Figures, Report)> {
        params.no_table(&self.header.kind)?;
        let learn = self.model.learn;
        let corpus = LabelledCorpus::read_for(lines, learn, self.names(), None, ctx).with_context(|| {
            message!("该模型须在带 {} 的行上评估", "the model is measured on lines with a {}", learn.name())
        })?;
        let guess = ctx.install(|| {
            let x = corpus.rows(0..corpus.len(), &self.cutter, &self.model.vectorizer);
            self.model.estimator.guess(&x)
        });
        Ok((figures(&guess, &corpus)?, lines.finish()?))
    }
}

/// The columns of an estimator's rows.
pub(crate) fn columns(estimator: &Estimator) -> Columns {
    let margin = estimator.link == Link::Margin && !estimator.is_calibrated();
    let (text, numbers) = match &estimator.task {
        Task::Values => (None, vec!["value".to_owned()]),
        Task::Classes(names) | Task::Labels(names) => {
            let kind = if margin { "margin" } else { "log_odds" };
            let odds = names.iter().map(|name| format!("{kind}:{name}"));
            let p = names.iter().filter(|_| !margin).map(|name| format!("p:{name}"));
            (Some("label".to_owned()), odds.chain(p).collect())
        }
    };
    Columns::Table { text, numbers }
}

/// Predictions as rows of [`columns`].
pub(crate) fn table(estimator: &Estimator, guess: Guess) -> Rows {
    let names = estimator.task.names();
    let label = |called: &Vec<u32>| called.iter().map(|&c| names[c as usize].as_str()).collect::<Vec<&str>>().join("|");
    let texts = guess.called.iter().map(label).collect();
    let Some(p) = guess.probabilities else { return Rows::Table { texts, numbers: guess.log_odds } };
    let rows = guess.log_odds.chunks(guess.columns).zip(p.chunks(guess.columns));
    Rows::Table { texts, numbers: rows.flat_map(|(odds, p)| odds.iter().chain(p).copied()).collect() }
}

/// The figures of predictions for the documents of a corpus.
pub(crate) fn figures(guess: &Guess, corpus: &LabelledCorpus) -> Result<Figures> {
    let mut figures = Figures::new();
    figures.insert("documents".to_owned(), json!(corpus.len()));
    if let Value::Object(judgement) = serde_json::to_value(guess.judge(&corpus.goal))? {
        figures.extend(judgement);
    }
    Ok(figures)
}
