//! Heads on encoders: a classifier or regressor that is fitted on the vectors another model gives texts.
//!
//! The encoder is a contextual model, or any model of a file whose rows are dense. Its vectors are standardised by the training documents;
//! a missing value counts as the mean. The file of a head holds the head, the scaling and the use of the encoder (pooling, layers, windows),
//! and names the encoder by its place and by the hash of its content. The vectors of the training documents wait in a scratch file.

mod encoder;
mod fitted;

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use chrono::NaiveDateTime;
use serde_json::{Value, json};

use crate::lines::{Line, Lines};
use crate::models::clusters;
use crate::models::estimators;
use crate::models::estimators::plain::LearnedEstimator;
use crate::models::estimators::plain::corpus::LabelledCorpus;
use crate::models::estimators::{ClassifyParams, Learn};
use inkstone_base::data::Report;
use inkstone_base::job::Ctx;
use inkstone_base::{ensure, message};
use inkstone_models::{
    DenseRows, Design, Estimator, Method, ModelFile, ModelHeader, Scaling, SpilledDense, StackedRows, write_model,
};

pub use encoder::Encoder;
pub(crate) use encoder::EncoderRecord;
pub use encoder::model_key;
pub(crate) use fitted::FittedHead;

/// Version of the sections of a head. Classifiers on terms, whose kinds are the same, have version 1.
const VERSION: u32 = 2;

/// The encoder of a head, where the file of a model is one.
pub(crate) fn encoder_of(file: &ModelFile) -> Result<Option<EncoderRecord>> {
    let header = file.header();
    let reads_rows = estimators::plain::is_kind(&header.kind) || header.kind == clusters::KIND;
    let is_head = reads_rows && !header.params["encoder"].is_null();
    if is_head { file.param("encoder").map(Some) } else { Ok(None) }
}

/// A head and the encoder whose vectors it reads.
pub struct Head {
    estimator: Estimator,
    scaling: Arc<Scaling>,
    learn: Learn,
    encoder: EncoderRecord,
    documents: u64,
    /// The last time of encoder and labels; none where one of the two does not say it.
    fitted_until: Option<NaiveDateTime>,
    /// The last time of the labels.
    labelled_until: Option<NaiveDateTime>,
    /// The parameters of the fit.
    fit: Value,
}

impl Head {
    /// A head that was fitted to one `label` a document on the vectors of `encoder` as they are.
    pub fn of_classes(
        estimator: Estimator,
        encoder: &Encoder,
        documents: u64,
        labelled_until: Option<NaiveDateTime>,
        fit: Value,
    ) -> Head {
        let scaling = Arc::new(Scaling::none(encoder.dim()));
        Head::new(estimator, scaling, Learn::Label, encoder, documents, labelled_until, fit)
    }

    fn new(
        estimator: Estimator,
        scaling: Arc<Scaling>,
        learn: Learn,
        encoder: &Encoder,
        documents: u64,
        labelled_until: Option<NaiveDateTime>,
        fit: Value,
    ) -> Head {
        let seen = encoder.fitted_until().zip(labelled_until);
        let fitted_until = seen.map(|(encoder, labels)| encoder.max(labels));
        let encoder = encoder.record().clone();
        Head { estimator, scaling, learn, encoder, documents, fitted_until, labelled_until, fit }
    }

    /// Writes the file of the head, at the place that the encoder was opened for.
    pub fn save(&self, path: &Path) -> Result<()> {
        let header = ModelHeader {
            kind: self.estimator.method.name().to_owned(),
            version: VERSION,
            fitted_until: self.fitted_until,
            documents: self.documents,
            params: json!({
                "encoder": self.encoder, "learn": self.learn, "labelled_until": self.labelled_until, "fit": self.fit,
            }),
        };
        let sections: Vec<(&str, Vec<u8>)> =
            self.scaling.sections().into_iter().chain(self.estimator.sections()?).collect();
        write_model(path, &header, &sections.iter().map(|(name, bytes)| (*name, &bytes[..])).collect::<Vec<_>>())
    }

    fn read(file: &ModelFile) -> Result<Head> {
        file.expect(&file.header().kind, VERSION)?;
        let scaling = Scaling::from_file(file)?;
        let header = file.header();
        Ok(Head {
            estimator: Estimator::from_file(file, scaling.dim())?,
            scaling: Arc::new(scaling),
            learn: file.param("learn")?,
            encoder: file.param("encoder")?,
            documents: header.documents,
            fitted_until: header.fitted_until,
            labelled_until: file.param("labelled_until")?,
            fit: file.param("fit")?,
        })
    }

    /// Vectors `[documents, dim]` as the estimator reads them.
    fn design(&self, vectors: Vec<f32>) -> Result<Design> {
        Ok(Design::of_dense(&DenseRows::new(self.scaling.dim(), vectors)?, &self.scaling))
    }
}

/// Fits a head on all lines that have what it learns and a vector. The scratch file lies in `folder`; `vectorizer` of the
/// parameters has no effect.
///
/// The report has the facts of [`estimators::plain::train`] but `tokens` and `vocabulary`, and `encoder`, `dim` and, of contextual models, `ran`.
pub fn train(
    lines: &mut Lines,
    encoder: &Encoder,
    params: &ClassifyParams,
    folder: &Path,
    ctx: &Ctx,
) -> Result<(Head, Report)> {
    let method = params.estimator.method;
    ensure!(
        method != Method::Bayes,
        "朴素贝叶斯统计词频，而向量没有词频：编码器上请用 logistic、svm、boosted、mlp 或 ridge",
        "naive Bayes counts terms, and vectors count nothing: take logistic, svm, boosted, mlp or ridge on an encoder"
    );
    let mut vectors = SpilledDense::within(folder)?;
    let mut encode = |lines: &[Line<'_>]| {
        let (found, has_row) = encoder.vectors_that_are_there(lines, ctx)?;
        vectors.push_rows(encoder.dim(), &found)?;
        Ok(has_row)
    };
    let corpus = LabelledCorpus::read(lines, params.learn, method == Method::Ridge, Some(&mut encode), ctx)?;
    let vectors = vectors.finish()?;
    let fit = || {
        let all: Vec<usize> = (0..vectors.rows()).collect();
        let scaling = Arc::new(Scaling::of(&vectors, &all));
        let x = Design::of_dense(&vectors, &scaling);
        Ok((scaling, x))
    };
    let folded = StackedRows::of_dense(&vectors);
    let LearnedEstimator { rows: scaling, estimator, params: settings, facts } =
        estimators::plain::learn(&corpus, &folded, fit, params, ctx)
            .with_context(|| message!("{} 上的分类头", "a head on {}", encoder.shown()))?;
    let documents = corpus.len() as u64;
    let labelled_until = corpus.labelled_until(params.label_days);
    let fit = json!({"estimator": settings, "calibrate": params.calibrate});
    let head = Head::new(estimator, scaling, corpus.learn, encoder, documents, labelled_until, fit);
    let mut report = lines.report();
    report.fact("documents", documents);
    report.fact("fitted_until", head.fitted_until);
    report.fact("labelled_until", labelled_until);
    report.fact("encoder", encoder.shown());
    report.fact("dim", encoder.dim());
    if let Some(ran) = encoder.ran() {
        report.fact("ran", ran);
    }
    report.facts.extend(facts);
    Ok((head, report))
}
