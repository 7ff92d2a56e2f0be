//! A file of the whole state after a pass, from which training goes on to the same bytes as without a break.

use std::path::Path;

use anyhow::Result;
use serde_json::json;

use super::matrix::LaneMatrix;
use super::train::{Pass, Word2vec};
use inkstone_base::ensure;
use inkstone_base::data::Key;
use crate::{ModelFile, ModelHeader, write_model};

const KIND: &str = "word2vec-checkpoint";
const VERSION: u32 = 1;

impl Word2vec<'_> {
    /// Writes the state; `words` and `documents` are those of the corpus.
    pub fn save(&self, path: &Path, words: Key, documents: u64) -> Result<()> {
        let header = ModelHeader {
            kind: KIND.to_owned(),
            version: VERSION,
            fitted_until: None,
            documents,
            params: json!({"params": self.params, "seed": self.seed, "corpus": self.corpus(words), "passes": self.passes}),
        };
        let (inputs, outputs) = (self.weights.inputs.to_values(), self.weights.outputs.to_values());
        let sections = [("inputs", bytemuck::cast_slice(&inputs)), ("outputs", bytemuck::cast_slice(&outputs))];
        write_model(path, &header, &sections)
    }

    /// Goes on from a state, which must be of this corpus, these parameters and this seed.
    pub fn resume(&mut self, path: &Path, words: Key) -> Result<()> {
        let file = ModelFile::open_kind(path, KIND, VERSION)?;
        let path = path.display();
        ensure!(
            file.param::<Key>("corpus")? == self.corpus(words), "{path} 是在另一语料、或按其他规则切分或保留的语料上训练时写的；请不带 --resume 训练", "{path} was written while training on another corpus, or on one cut or kept by other rules; train without --resume");
        let params = &file.header().params;
        for (name, ours) in json!(self.params).as_object().into_iter().flatten() {
            let theirs = &params["params"][name];
            ensure!(theirs == ours, "{path} 写入时 {name} 为 {theirs}，现为 {ours}；请不带 --resume 训练", "{path} was written with {name} {theirs}, not {ours}; train without --resume");
        }
        ensure!(
            params["seed"] == self.seed, "{path} 写入时种子为 {}，现为 {}；请不带 --resume 训练", "{path} was written with seed {}, not {}; train without --resume", params["seed"],
            self.seed);
        for (name, matrix) in [("inputs", &mut self.weights.inputs), ("outputs", &mut self.weights.outputs)] {
            let values: &[f32] = file.numbers(name)?;
            ensure!(values.len() == matrix.rows() * self.params.dim, "{path}：{name} 一节已损坏", "{path}: section {name} is damaged");
            *matrix = LaneMatrix::from_values(values, self.params.dim);
        }
        self.passes = file.param::<Vec<Pass>>("passes")?;
        Ok(())
    }

    fn corpus(&self, words: Key) -> Key {
        Key::of_parts([&words.0[..], bytemuck::cast_slice(self.numbers)])
    }
}
