//! The vector of a window: which vectors of tokens are read, how they become one, and the layers behind that.

use anyhow::{Context, Result};
use rayon::prelude::*;

use super::family::Config;
use super::graph::{Hidden, output};
use super::layer::Layer;
use super::pooling::{Layers, Pool, Pooling, pool};
use super::session::{Given, Port, Session, no_output};
use super::settled::VectorRules;
use super::task::BatchOutputs;
use super::windows::places;
use inkstone_base::job::Ctx;
use inkstone_base::language::Word;
use inkstone_base::{bail, ensure, message};

/// Values of a batch from which on its vectors are pooled by all threads.
const MANY_VALUES: usize = 1 << 22;

/// A vector of the tokens' vectors.
pub(crate) struct Embedding {
    /// None where the graph's own vector of a text is all that is read.
    hidden: Option<Hidden>,
    /// Layers with their weights, one list for each that stands side by side.
    weights: Vec<Vec<(usize, f32)>>,
    taken: Pooling,
    pooler: Option<String>,
    /// Layers behind the pooling, with their folders.
    layers: Vec<(String, Layer)>,
    pub(crate) normalise: bool,
    /// Values of a row.
    pub(crate) dim: usize,
}

impl Embedding {
    /// Layers that stand side by side.
    pub(crate) fn layers(&self) -> usize {
        self.weights.len()
    }

    pub(crate) fn new(session: &Session, layers: &Layers, rules: VectorRules, config: &Config) -> Result<Embedding> {
        let outputs = session.outputs();
        let needs_pooler = rules.pooling.0.contains(&Pool::Pooler);
        let pooler = own_vector(outputs).filter(|_| needs_pooler);
        ensure!(
            !needs_pooler || pooler.is_some(),
            no_output(
                session,
                Word("pooling = \"pooler\" 所需的 pooler_output", "pooler_output, which pooling = \"pooler\" asks for",)
            )
        );
        let size =
            |name: &str| outputs.iter().find(|port| port.name == name).and_then(|port| port.shape.last().copied());
        let dim_of = |name: &str| {
            let size = size(name).and_then(|size| usize::try_from(size).ok()).or(config.hidden());
            size.with_context(|| {
                message!(
                    "{} 没有说明输出 {name} 的向量有多少维",
                    "{} does not say how long the vectors of its output {name} are",
                    session.path().display()
                )
            })
        };
        let own = pooler.map(|port| dim_of(&port.name)).transpose()?;
        // Layers ask for the vectors of tokens, even beside a pooler that reads none.
        let needs_tokens = *layers != Layers::Last || rules.pooling.0.iter().any(|pool| *pool != Pool::Pooler);
        let (hidden, weights, vector) = if needs_tokens {
            let hidden = Hidden::new(outputs).with_context(|| {
                no_output(session, Word("词元的向量（last_hidden_state）", "vectors of tokens (last_hidden_state)"))
            })?;
            let weights = layers.weights(hidden.layers())?;
            // Most graphs give the last layer under a name of its own, whatever other layers they give.
            let only_last = weights.len() == 1 && weights[0] == [(hidden.layers() - 1, 1.0)];
            let (hidden, weights) = match Hidden::last(outputs).filter(|_| only_last) {
                Some(last) => (Hidden::Last(last), vec![vec![(0, 1.0)]]),
                None => (hidden, weights),
            };
            let name = match &hidden {
                Hidden::Each(names) => &names[0],
                Hidden::Stacked(name, _) | Hidden::Last(name) => name,
            };
            let vector = dim_of(name)?;
            (Some(hidden), weights, vector)
        } else {
            (None, vec![vec![(0, 1.0)]], 0)
        };
        if let Some(stated) =
            rules.pooled_size.filter(|&stated| hidden.is_some() && *layers == Layers::Last && stated != vector)
        {
            bail!(
                "1_Pooling/config.json 用于 {stated} 维向量，而 {} 给出 {vector} 维：它们不属于同一模型",
                "1_Pooling/config.json is for vectors of {stated} values, and {} gives vectors of {vector}: they are not of one model",
                session.path().display()
            );
        }
        let one = |take: &Pool| if *take == Pool::Pooler { own.unwrap_or(0) } else { vector * weights.len() };
        let mut dim: usize = rules.pooling.0.iter().map(one).sum();
        for (path, layer) in &rules.layers {
            dim = layer.size(dim).with_context(|| {
                message!(
                    "modules.json 中的层 {path} 与 {} 不符",
                    "the layer {path} of modules.json does not fit {}",
                    session.path().display()
                )
            })?;
        }
        ensure!(
            rules.dim <= dim,
            "dim = {} 大于 {} 的向量的 {dim} 维",
            "dim = {} is more than the {dim} values that the vectors of {} have",
            rules.dim,
            session.path().display()
        );
        let dim = if rules.dim > 0 { rules.dim } else { dim };
        let VectorRules { pooling: taken, layers, normalise, .. } = rules;
        Ok(Embedding { hidden, weights, taken, pooler: pooler.map(|port| port.name.clone()), layers, normalise, dim })
    }

    pub(crate) fn wanted(&self) -> Vec<&str> {
        let layers = self.weights.iter().flatten().map(|(layer, _)| *layer);
        let mut wanted: Vec<&str> = match &self.hidden {
            None => Vec::new(),
            Some(Hidden::Each(names)) => layers.map(|layer| names[layer].as_str()).collect(),
            Some(Hidden::Stacked(name, _) | Hidden::Last(name)) => vec![name],
        };
        wanted.extend(self.pooler.as_deref());
        wanted.sort_unstable();
        wanted.dedup();
        wanted
    }

    /// The vectors of the windows of a batch, in its order.
    pub(crate) fn rows(&self, read: BatchOutputs<'_, '_, '_>, ctx: &Ctx) -> Result<Vec<f32>> {
        let BatchOutputs { outputs, windows, batch, width, family } = read;
        let names = self.wanted();
        let given = names.iter().map(|name| outputs.get(name)).collect::<Result<Vec<Given<'_>>>>()?;
        let named = |name: &str| names.iter().position(|other| *other == name).map(|i| &given[i]);
        let pooler = self.pooler.as_deref().and_then(named);
        let hidden = given.iter().find(|given| given.shape.len() >= 3).and_then(|given| given.shape.last().copied());
        let hidden = if self.hidden.is_none() {
            0
        } else {
            hidden.context(Word("词元的向量没有长度", "the vectors of tokens have no length"))?
        };
        let size = width * hidden;
        let vector = |(i, &number): (usize, &usize)| -> Result<Vec<f32>> {
            let layer = |layer: usize| -> Result<&[f32]> {
                let (given, at) = match &self.hidden {
                    None => return Ok(&[]),
                    Some(Hidden::Each(names)) => (named(&names[layer]), i),
                    Some(Hidden::Stacked(name, layers)) => (named(name), i * layers + layer),
                    Some(Hidden::Last(name)) => (named(name), i),
                };
                let given = given.context(Word("缺少所要的输出", "an output that was asked for is missing"))?;
                given.values.get(at * size..(at + 1) * size).with_context(|| {
                    message!(
                        "词元向量的形状为 {:?}，而不是 [batch, {width}, {hidden}]",
                        "vectors of tokens have the shape {:?}, not [batch, {width}, {hidden}]",
                        given.shape
                    )
                })
            };
            let places = places(&windows.windows[number], width, family.left, family.cls_last);
            let own = pooler.map_or(&[][..], |given| {
                let size = given.values.len() / given.shape[0].max(1);
                &given.values[i * size..(i + 1) * size]
            });
            let mut row = Vec::with_capacity(self.dim);
            // Vectors of one layer are used where they lie; others are mixed.
            if let [weights] = &self.weights[..]
                && let [(number, 1.0)] = weights[..]
            {
                pool(&self.taken, layer(number)?, hidden, &places, own, &mut row);
            } else {
                let mixed = self.mixed(hidden, size, layer)?;
                pool(&self.taken, &mixed, hidden * self.weights.len(), &places, own, &mut row);
            }
            self.finish(&mut row);
            Ok(row)
        };
        // The threads of the library wait for its next run: for a few values it is not worth to wake others.
        let rows = match size * batch.len() < MANY_VALUES {
            true => batch.iter().enumerate().map(vector).collect::<Result<Vec<_>>>()?,
            false => ctx.install(|| batch.par_iter().enumerate().map(vector).collect::<Result<Vec<_>>>())?,
        };
        Ok(rows.concat())
    }

    /// The vectors of the tokens of a window, the layers weighed and side by side.
    fn mixed<'v>(&self, hidden: usize, size: usize, layer: impl Fn(usize) -> Result<&'v [f32]>) -> Result<Vec<f32>> {
        let side = self.weights.len();
        let mut mixed = vec![0.0; size * side];
        for (part, weights) in self.weights.iter().enumerate() {
            for &(number, weight) in weights {
                for (token, vector) in layer(number)?.chunks(hidden).enumerate() {
                    let at = (token * side + part) * hidden;
                    mixed[at..at + hidden].iter_mut().zip(vector).for_each(|(sum, value)| *sum += weight * value);
                }
            }
        }
        Ok(mixed)
    }

    /// Takes the pooled vector of a window through the layers behind the pooling, and keeps its first values.
    fn finish(&self, row: &mut Vec<f32>) {
        for (_, layer) in &self.layers {
            *row = layer.apply(row);
        }
        row.truncate(self.dim);
    }
}

/// Names that exports give to the finished vector of a text; the first two are of BERT's own pooler alone.
const OWN_VECTORS: [&str; 4] = ["pooler_output", "pooled_output", "sentence_embedding", "dense_vecs"];

/// The output that holds the vector of a text.
fn own_vector(outputs: &[Port]) -> Option<&Port> {
    output(outputs, &OWN_VECTORS, 2)
}

/// The output that holds the finished vector of a text, if it is what is read: because it is asked for (`pooler`), or because the graph
/// gives no vectors of tokens.
pub(crate) fn finished_vector<'a>(outputs: &'a [Port], asked: Option<&Pooling>) -> Option<&'a str> {
    let port = own_vector(outputs).filter(|port| !OWN_VECTORS[..2].contains(&port.name.as_str()))?;
    let read = match asked {
        Some(pooling) => pooling.0 == [Pool::Pooler],
        None => Hidden::new(outputs).is_none(),
    };
    read.then_some(port.name.as_str())
}
