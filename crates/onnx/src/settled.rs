//! How vectors are made, settled between the settings and what the folder says. A setting goes before the folder, and says so.

use std::fmt;

use anyhow::Result;
use serde::{Serialize, Serializer};

use super::layer::Layer;
use super::params::OnnxParams;
use super::pooling::{Pool, Pooling};
use super::published::{Published, Stated};

use inkstone_base::{ensure, message};

/// A setting as it is used, and the file that states it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settled {
    pub setting: &'static str,
    pub value: String,
    /// The file of the folder that states the value; none where the user has set it.
    pub from: Option<String>,
    /// The value that the folder states instead, and its file.
    pub against: Option<(String, String)>,
}

impl fmt::Display for Settled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Settled { setting, value, from, against } = self;
        write!(f, "{setting} = {value}")?;
        match (from, against) {
            (Some(file), _) => write!(f, ": {file}"),
            (None, Some((other, file))) => message!("，而 {file} 为 {other}", ", where {file} says {other}").fmt(f),
            (None, None) => Ok(()),
        }
    }
}

impl Serialize for Settled {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// How a vector is made of the vectors of tokens.
#[derive(Debug, Default)]
pub(crate) struct VectorRules {
    pub pooling: Pooling,
    /// Values of a token's vector that the folder's pooling is for.
    pub pooled_size: Option<usize>,
    /// The tokens of the prompt are left out of the pooling.
    pub skips_prompt: bool,
    pub layers: Vec<(String, Layer)>,
    pub normalise: bool,
    /// Values that are kept of a vector; 0: all.
    pub dim: usize,
    /// Text before every text; empty for none.
    pub prompt: String,
    /// Tokens of a window at most; 0: as many as the model has places.
    pub max_tokens: usize,
    /// Settings that the folder states, and settings of the user beside it.
    pub settled: Vec<Settled>,
}

impl VectorRules {
    /// Merges the user's settings with those of the folder; the user's win. `own` is the output of a graph that gives finished vectors of
    /// texts, if that output is to be read.
    pub(crate) fn new(params: &OnnxParams, published: Option<Published>, own: Option<&str>) -> Result<VectorRules> {
        let of_folder = published.is_some();
        let published = published.unwrap_or_default();
        let mut settled = Vec::new();
        let pooling = match own {
            Some(output) => {
                let stated = Stated {
                    value: Pooling(vec![Pool::Pooler]),
                    file: message!("图（{output}）", "the graph ({output})").to_string(),
                };
                settle("pooling", params.pooling.clone(), Some(stated), &mut settled)
            }
            None => {
                ensure!(
                    !of_folder || params.pooling.is_some() || published.pooling.is_some(),
                    "modules.json 没有写明池化：请写明词元向量如何合一，如 pooling = \"mean\"",
                    "modules.json names no pooling: say how the vectors of tokens become one, as pooling = \"mean\""
                );
                settle("pooling", params.pooling.clone(), published.pooling.clone(), &mut settled)
            }
        };
        let stated = of_folder.then(|| published.normalise.clone());
        let normalise = settle("normalise", params.normalise, stated, &mut settled).unwrap_or(false);
        for (path, _) in published.layers.iter().filter(|_| own.is_none()) {
            let from = Some("modules.json".to_owned());
            settled.push(Settled { setting: "layer", value: path.clone(), from, against: None });
        }
        let asked = |value: usize| (value > 0).then_some(value);
        let max_tokens = settle(
            "max_tokens",
            asked(params.max_tokens),
            published.max_tokens.clone().filter(|_| of_folder),
            &mut settled,
        );
        let dim = settle("dim", asked(params.dim), published.dim.clone(), &mut settled);
        let prompt = published.prompt(params.prompt.as_deref())?;
        if let Some(Stated { value, file }) = &prompt {
            let from = (!file.is_empty()).then(|| file.clone());
            settled.push(Settled { setting: "prompt", value: format!("{value:?}"), from, against: None });
        }
        // Where the folder says nothing, the parameters tell all; what came later is part of the key by being here.
        let stated = of_folder || (own.is_some() && params.pooling.is_none());
        settled.retain(|one| stated || one.setting == "dim" || one.setting == "prompt");
        Ok(VectorRules {
            pooling: pooling.unwrap_or_default(),
            pooled_size: published.pooled_size.filter(|_| params.pooling.is_none()),
            skips_prompt: published.skips_prompt,
            layers: if own.is_some() { Vec::new() } else { published.layers },
            normalise,
            dim: dim.unwrap_or(0),
            prompt: prompt.map(|prompt| prompt.value).unwrap_or_default(),
            max_tokens: max_tokens.unwrap_or(0),
            settled,
        })
    }
}

/// The value of a setting: as it is asked, else as the folder states it; noted in `settled` where either does.
fn settle<T: PartialEq + fmt::Display>(
    setting: &'static str,
    asked: Option<T>,
    stated: Option<Stated<T>>,
    settled: &mut Vec<Settled>,
) -> Option<T> {
    let (value, from, against) = match (asked, stated) {
        (None, None) => return None,
        (None, Some(stated)) => (stated.value, Some(stated.file), None),
        (Some(asked), Some(stated)) if asked == stated.value => (asked, Some(stated.file), None),
        (Some(asked), Some(stated)) => (asked, None, Some((stated.value.to_string(), stated.file))),
        (Some(asked), None) => (asked, None, None),
    };
    settled.push(Settled { setting, value: value.to_string(), from, against });
    Some(value)
}
