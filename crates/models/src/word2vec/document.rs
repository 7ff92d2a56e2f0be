//! doc2vec: the vector of a text is what a document learns while it predicts the text's words, all else held still.

use std::path::Path;

use anyhow::Result;
use chrono::NaiveDateTime;
use rustc_hash::FxHashMap;
use serde::Serialize;
use serde_json::json;

use super::kernel::StepBuffers;
use super::matrix::{Lane, LaneMatrix};
use super::plan::{END, Plan, Rules};
use super::train::{Word2vec, falling};
use super::{Architecture, Word2vecParams};
use crate::random::Random;
use crate::{Explanation, ModelFile, ModelHeader, Part, pack_strings, write_model};
use inkstone_base::ensure;
use inkstone_base::language::Word;
use inkstone_base::simd::wide;

/// A trained model: what it knows of words, without the documents that it was trained on.
pub struct Doc2vec {
    words: Vec<Box<str>>,
    counts: Vec<u64>,
    numbers: FxHashMap<Box<str>, u32>,
    params: Word2vecParams,
    losses: Vec<f64>,
    seed: u64,
    rules: Rules,
    /// `[words, dim]` each; of the inputs distributed memory alone makes use.
    inputs: LaneMatrix,
    outputs: LaneMatrix,
}

impl Doc2vec {
    /// Kind of its model files.
    pub const KIND: &str = "doc2vec";
    const VERSION: u32 = 1;

    /// The model of a finished training on these words.
    pub fn from_trained(trained: Word2vec<'_>, words: Vec<Box<str>>, counts: Vec<u64>) -> Doc2vec {
        let inputs = LaneMatrix::from_values(&trained.vectors(), trained.params.dim);
        let losses = trained.losses();
        let Word2vec { params, seed, weights, .. } = trained;
        Doc2vec::new(words, counts, params, losses, seed, [inputs, weights.outputs])
    }

    fn new(
        words: Vec<Box<str>>,
        counts: Vec<u64>,
        params: Word2vecParams,
        losses: Vec<f64>,
        seed: u64,
        [inputs, outputs]: [LaneMatrix; 2],
    ) -> Doc2vec {
        let rules = Rules::new(&words, &counts, &params);
        let numbers = words.iter().cloned().zip(0..).collect();
        Doc2vec { words, counts, numbers, params, losses, seed, rules, inputs, outputs }
    }

    /// Values of a vector.
    pub fn dim(&self) -> usize {
        self.params.dim
    }

    /// True if it knows a word.
    pub fn knows(&self, word: &str) -> bool {
        self.numbers.contains_key(word)
    }

    /// Words and their vectors `[words, dim]`; none where documents alone predicted.
    pub fn words(&self) -> Option<(&[Box<str>], Vec<f32>)> {
        (self.params.architecture == Architecture::Dm).then(|| (&*self.words, self.inputs.to_values()))
    }

    /// The vector of a text, given by the terms of its sequences; zeros if it has none of the words. The same text has the same
    /// vector wherever it stands.
    pub fn infer(&self, sequences: &[Vec<&str>]) -> Vec<f32> {
        let mut numbers = Vec::new();
        for sequence in sequences {
            numbers.extend(sequence.iter().filter_map(|&term| self.numbers.get(term)));
            numbers.push(END);
        }
        if numbers.iter().all(|&number| number == END) {
            return vec![0.0; self.params.dim];
        }
        let mut vector = LaneMatrix::random(1, self.params.dim, &mut Random::new([self.seed, u64::MAX, 1]));
        let mut step = StepBuffers::new(1, vector.lanes());
        let mut plan = Plan::default();
        for epoch in 0..self.params.epochs {
            plan.draw(&numbers, 0, &self.rules, &mut Random::new([self.seed, epoch as u64, u64::MAX]));
            let rate = falling(&self.params, epoch as f64 / self.params.epochs as f64) as f32;
            self.learn(&plan, vector.row_mut(0), &mut step, rate);
        }
        vector.to_values()
    }

    fn learn(&self, plan: &Plan, vector: &mut [Lane], step: &mut StepBuffers, rate: f32) {
        wide(
            #[inline(always)]
            || {
                let (mut input, mut row) = (0, 0);
                for window in &plan.windows {
                    // The last is the document's own.
                    let (words, rows) = (input..window.inputs as usize - 1, row..window.outputs as usize);
                    (input, row) = (window.inputs as usize, rows.end);
                    let from = (&self.inputs, &plan.inputs[words], window.scale);
                    step.document(from, vector, (&self.outputs, &plan.rows[rows.clone()], &plan.labels[rows]), rate);
                }
            },
        );
    }

    /// The effect of each term on the length of the vector, or to one of its values: the difference that it makes when all its
    /// occurrences are taken away.
    pub fn explain(&self, sequences: &[Vec<&str>], component: Option<usize>) -> Explanation {
        let value = |sequences: &[Vec<&str>]| {
            let vector = self.infer(sequences);
            let length = || vector.iter().map(|&v| f64::from(v) * f64::from(v)).sum::<f64>().sqrt();
            component.map_or_else(length, |component| f64::from(vector[component]))
        };
        let score = value(sequences);
        let mut terms: Vec<&str> = Vec::new();
        for &term in sequences.iter().flatten() {
            if self.knows(term) && !terms.contains(&term) {
                terms.push(term);
            }
        }
        let part = |&term: &&str| {
            let rest: Vec<Vec<&str>> =
                sequences.iter().map(|all| all.iter().copied().filter(|&other| other != term).collect()).collect();
            Part { token: term.to_owned(), value: score - value(&rest), detail: Vec::new() }
        };
        let terms: Vec<Part> = terms.iter().map(part).collect();
        Explanation {
            of: component.map(|component| format!("c{}", component + 1)),
            formula: Word(
                "每个词的部分 = 推断向量的值 - 去掉该词后的值；intercept 是各词共同的部分",
                "a token's part = value of the inferred vector - its value without the token; the intercept is what \
                      tokens do together",
            )
            .into(),
            score,
            intercept: score - terms.iter().map(|part| part.value).sum::<f64>(),
            terms,
            ..Explanation::default()
        }
        .largest_first()
    }

    /// Writes the model file; `cut` says how its documents were cut.
    pub fn save(
        &self,
        path: &Path,
        cut: &impl Serialize,
        documents: u64,
        fitted_until: Option<NaiveDateTime>,
    ) -> Result<()> {
        let header = ModelHeader {
            kind: Doc2vec::KIND.to_owned(),
            version: Doc2vec::VERSION,
            fitted_until,
            documents,
            params: json!({"cut": cut, "training": self.params, "seed": self.seed, "losses": self.losses}),
        };
        let words = pack_strings(self.words.iter().map(AsRef::as_ref));
        let (inputs, outputs) = (self.inputs.to_values(), self.outputs.to_values());
        let sections: [(&str, &[u8]); 4] = [
            ("words", &words),
            ("counts", bytemuck::cast_slice(&self.counts)),
            ("inputs", bytemuck::cast_slice(&inputs)),
            ("outputs", bytemuck::cast_slice(&outputs)),
        ];
        write_model(path, &header, &sections)
    }

    pub fn read(file: &ModelFile) -> Result<Doc2vec> {
        file.expect(Doc2vec::KIND, Doc2vec::VERSION)?;
        let params: Word2vecParams = file.param("training")?;
        params.check()?;
        let words: Vec<Box<str>> = file.strings("words")?.into_iter().map(Box::from).collect();
        let matrix = |name| anyhow::Ok(LaneMatrix::from_values(file.numbers(name)?, params.dim));
        let matrices = [matrix("inputs")?, matrix("outputs")?];
        let counts = file.counts("counts")?;
        let (losses, seed) = (file.param("losses")?, file.param("seed")?);
        ensure!(words.len() > 1 && counts.len() == words.len(), "模型的词已损坏", "the model's words are damaged");
        let model = Doc2vec::new(words, counts, params, losses, seed, matrices);
        let rows = [model.inputs.rows(), model.outputs.rows()];
        ensure!(
            rows == [model.words.len(), model.rules.outputs()],
            "模型的矩阵已损坏",
            "the model's matrices are damaged"
        );
        Ok(model)
    }
}
