//! The model file of a network of any kind: its settings and figures in the header, a section a weight.

use std::path::Path;

use anyhow::Result;
use chrono::NaiveDateTime;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use super::EpochFigures;
use super::weights::{Weight, Weights};
use crate::{ModelFile, ModelHeader, write_model};

const VERSION: u32 = 1;

/// A network as it is written.
pub(crate) struct Saved<'n, P> {
    pub kind: &'static str,
    pub params: &'n P,
    pub weights: &'n Weights,
    pub epochs: &'n [EpochFigures],
}

impl<P: Serialize> Saved<'_, P> {
    /// Writes the model file; `cut` says how its documents were cut, `sections` are those besides the weights.
    pub(crate) fn write(
        &self,
        path: &Path,
        cut: &impl Serialize,
        documents: u64,
        fitted_until: Option<NaiveDateTime>,
        sections: &[(&str, &[u8])],
    ) -> Result<()> {
        let header = ModelHeader {
            kind: self.kind.to_owned(),
            version: VERSION,
            fitted_until,
            documents,
            params: json!({
                "cut": cut, "network": self.params, "parameters": self.weights.count(), "epochs": self.epochs,
            }),
        };
        write_model(path, &header, &[sections, &self.weights.sections()].concat())
    }
}

/// The settings and the figures of a network in a file of this kind.
pub(crate) fn read_settings<P: DeserializeOwned>(file: &ModelFile, kind: &str) -> Result<(P, Vec<EpochFigures>)> {
    file.expect(kind, VERSION)?;
    Ok((file.param("network")?, file.param("epochs")?))
}

/// The weights of these names and shapes.
pub(crate) fn read_weights(file: &ModelFile, shapes: Vec<(&'static str, usize, usize)>) -> Result<Weights> {
    let read = |(name, rows, dim)| Weight::read(name, rows, dim, file);
    Ok(Weights::new(shapes.into_iter().map(read).collect::<Result<_>>()?))
}
