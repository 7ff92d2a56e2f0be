//! Where training stands, on disk: written after each epoch beside the output, read when the same training starts again.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::fit::State;
use super::weights::Weights;
use crate::data::Key;
use crate::model::{ModelFile, ModelHeader, write_model};

const KIND: &str = "checkpoint";
const VERSION: u32 = 1;

/// The checkpoint file of a training.
pub(crate) struct Checkpoint {
    path: PathBuf,
    key: Key,
}

impl Checkpoint {
    /// That of the model `output`; `what` says all that decides the result: parameters, seed and data.
    pub(crate) fn of(output: &Path, what: &Value) -> Result<Checkpoint> {
        let mut name = output.file_name().context("the output has no name")?.to_owned();
        name.push(".checkpoint");
        Ok(Checkpoint { path: output.with_file_name(name), key: Key::of(what.to_string().as_bytes()) })
    }

    /// Takes up what an interrupted training of the same left; else gives back the start.
    pub(super) fn read(&self, start: State) -> Result<State> {
        if !self.path.exists() {
            return Ok(start);
        }
        let file = ModelFile::open_kind(&self.path, KIND, VERSION)?;
        if file.param::<Key>("key")? != self.key {
            return Ok(start);
        }
        file.verify()?;
        let State { mut weights, mut best, .. } = start;
        fill(&mut weights, &file, ["values", "moments"], file.param("steps")?)?;
        fill(&mut best, &file, ["best_values", "best_moments"], file.param("best_steps")?)?;
        let (best_loss, worse) = (file.param("best_loss")?, file.param("worse")?);
        Ok(State { weights, best, best_loss, worse, lr: file.param("lr")?, epochs: file.param("epochs")? })
    }

    pub(super) fn write(&self, state: &State) -> Result<()> {
        let ((moments, steps), (best_moments, best_steps)) = (state.weights.memory(), state.best.memory());
        let params = json!({
            "key": self.key, "steps": steps, "best_steps": best_steps, "best_loss": state.best_loss,
            "worse": state.worse, "lr": state.lr, "epochs": state.epochs,
        });
        let header = ModelHeader { kind: KIND.to_owned(), version: VERSION, fitted_until: None, documents: 0, params };
        let sections = [
            ("values", values(&state.weights)),
            ("moments", moments),
            ("best_values", values(&state.best)),
            ("best_moments", best_moments),
        ];
        write_model(&self.path, &header, &sections.each_ref().map(|(name, all)| (*name, bytemuck::cast_slice(all))))
    }

    /// The training has ended and its model is written.
    pub(crate) fn remove(&self) -> Result<()> {
        match std::fs::remove_file(&self.path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(error).with_context(|| format!("cannot remove {}", self.path.display()))
            }
            _ => Ok(()),
        }
    }
}

fn values(weights: &Weights) -> Vec<f32> {
    weights.all.iter().flat_map(|weight| weight.values.iter().copied()).collect()
}

fn fill(weights: &mut Weights, file: &ModelFile, names: [&str; 2], steps: i32) -> Result<()> {
    let mut values = file.numbers::<f32>(names[0])?;
    for weight in &mut weights.all {
        let (here, rest) = values.split_at_checked(weight.values.len()).context("the checkpoint is of another size")?;
        weight.values.copy_from_slice(here);
        values = rest;
    }
    weights.remember(file.numbers(names[1])?, steps)
}
