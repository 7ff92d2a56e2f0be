//! BART: an encoder, and a decoder in two graphs. The first step of a decoder computes keys and values of the source, and later steps take them.

use anyhow::Result;

use super::attention::Heads;
use super::graph::{Axis, GraphWriter, Value};
use super::settings::Settings;
use super::weights::Weights;
use super::{Wanted, body, give_layers, give_logits, words};

use inkstone_base::{bail, ensure};

/// Rows of the tables of places before that of the first token.
const FIRST_PLACE: i64 = 2;
const EPSILON: f32 = 1e-5;

/// Sizes of a side, with the function between its inner layers.
struct Side<'s> {
    prefix: &'static str,
    name: &'static str,
    hidden: usize,
    inner: usize,
    layers: usize,
    heads: Heads,
    activation: &'s str,
}

pub(super) fn write(graph: &mut GraphWriter<'_>, weights: &Weights, settings: &Settings, wanted: Wanted) -> Result<()> {
    for setting in ["scale_embedding", "normalize_before", "add_final_layer_norm"] {
        ensure!(
            !settings.flag(setting),
            "config.json 有这里不认识的 {setting}",
            "config.json has {setting}, which is not known here"
        );
    }
    let (prefix, hidden) = (body(weights, "model."), settings.size("d_model")?);
    let side = |name: &'static str| -> Result<Side<'_>> {
        Ok(Side {
            prefix,
            name,
            hidden,
            inner: settings.size(&format!("{name}_ffn_dim"))?,
            layers: settings.layers(&format!("{name}_layers"))?,
            heads: Heads::new(hidden, settings.size(&format!("{name}_attention_heads"))?)?,
            activation: settings.text("activation_function").unwrap_or("gelu"),
        })
    };
    let vocabulary = settings.size("vocab_size")?;
    match wanted {
        Wanted::Words => bail!("带解码器的编码器不能填空", "an encoder with a decoder fills no masks"),
        Wanted::FirstStep => side("decoder")?.decoder(graph, vocabulary, true),
        Wanted::LaterStep => side("decoder")?.decoder(graph, vocabulary, false),
        Wanted::Vectors | Wanted::Writing | Wanted::All => side("encoder")?.encoder(graph, vocabulary),
    }
}

impl Side<'_> {
    fn at(&self, name: &str) -> String {
        format!("{}{}.{name}", self.prefix, self.name)
    }

    /// Vectors of tokens at places `[batch or 1, tokens]`, normalised.
    fn embed(&self, graph: &mut GraphWriter<'_>, ids: Value, places: Value, vocabulary: usize) -> Result<Value> {
        // A side has a table of its own where the tables are not tied.
        let own = self.at("embed_tokens.weight");
        let name = if graph.has(&own) { own } else { format!("{}shared.weight", self.prefix) };
        let table = graph.weight(&name, &[vocabulary, self.hidden])?;
        let x = graph.gather(table, ids, 0);
        let (table, _) = graph.table(&self.at("embed_positions.weight"), self.hidden)?;
        let first = graph.int(FIRST_PLACE);
        let places = graph.add(places, first);
        let vectors = graph.gather(table, places, 0);
        let x = graph.add(x, vectors);
        graph.layer_norm(x, &self.at("layernorm_embedding"), self.hidden, EPSILON)
    }

    /// Queries, keys or values of vectors, `[batch, heads, tokens, size]`.
    fn part(&self, graph: &mut GraphWriter<'_>, x: Value, name: &str) -> Result<Value> {
        let part = graph.linear(x, name, self.hidden, self.hidden)?;
        Ok(graph.divide_heads(part, self.heads.count, self.heads.size))
    }

    /// The output of the attention of this name, added to its input and normalised.
    fn attend(
        &self,
        graph: &mut GraphWriter<'_>,
        x: Value,
        name: &str,
        [keys, values]: [Value; 2],
        mask: Value,
    ) -> Result<Value> {
        let queries = self.part(graph, x, &format!("{name}.q_proj"))?;
        let read = graph.attend([queries, keys, values], self.heads, mask);
        let read = graph.linear(read, &format!("{name}.out_proj"), self.hidden, self.hidden)?;
        let sum = graph.add(x, read);
        graph.layer_norm(sum, &format!("{name}_layer_norm"), self.hidden, EPSILON)
    }

    /// Keys and values of vectors for the attention of this name.
    fn keys_and_values(&self, graph: &mut GraphWriter<'_>, x: Value, name: &str) -> Result<[Value; 2]> {
        Ok([self.part(graph, x, &format!("{name}.k_proj"))?, self.part(graph, x, &format!("{name}.v_proj"))?])
    }

    /// The feed-forward layer.
    fn feed_forward(&self, graph: &mut GraphWriter<'_>, x: Value, layer: &str) -> Result<Value> {
        let inner = graph.linear(x, &format!("{layer}.fc1"), self.hidden, self.inner)?;
        let inner = graph.activation(inner, self.activation)?;
        let inner = graph.linear(inner, &format!("{layer}.fc2"), self.inner, self.hidden)?;
        let sum = graph.add(x, inner);
        graph.layer_norm(sum, &format!("{layer}.final_layer_norm"), self.hidden, EPSILON)
    }

    fn encoder(&self, graph: &mut GraphWriter<'_>, vocabulary: usize) -> Result<()> {
        let (ids, seen) = (graph.input("input_ids"), graph.input("attention_mask"));
        let tokens = graph.size(ids, 1);
        let places = graph.range(tokens);
        let mut x = self.embed(graph, ids, places, vocabulary)?;
        let mask = graph.mask_all(seen);
        let mut states = vec![x];
        for layer in 0..self.layers {
            let layer = self.at(&format!("layers.{layer}"));
            let name = format!("{layer}.self_attn");
            let parts = self.keys_and_values(graph, x, &name)?;
            x = self.attend(graph, x, &name, parts, mask)?;
            x = self.feed_forward(graph, x, &layer)?;
            states.push(x);
        }
        give_layers(graph, &states, self.hidden);
        Ok(())
    }

    /// Logits over the vocabulary behind the last tokens, with keys and values of all tokens and, in the first step, of the source.
    fn decoder(&self, graph: &mut GraphWriter<'_>, vocabulary: usize, first: bool) -> Result<()> {
        let (ids, seen) = (graph.input("input_ids"), graph.input("attention_mask"));
        let places = graph.input("position_ids");
        let source = || [Axis::Named("batch"), Axis::Named("encoder_sequence")];
        let read = graph.input_numbers("encoder_attention_mask", &source());
        let rows = [Axis::Named("batch"), Axis::Named("encoder_sequence"), Axis::Size(self.hidden)];
        let memory = first.then(|| graph.input_floats("encoder_hidden_states", &rows));
        let mut x = self.embed(graph, ids, places, vocabulary)?;
        let (mask, of_source) = (graph.mask_causal(seen, ids), graph.mask_all(read));
        for number in 0..self.layers {
            let layer = self.at(&format!("layers.{number}"));
            let name = format!("{layer}.self_attn");
            let parts = self.keys_and_values(graph, x, &name)?;
            let own = format!("{number}.decoder");
            let parts = match first {
                true => graph.give_parts(&own, parts, self.heads, "sequence"),
                false => graph.remember(&own, parts, self.heads),
            };
            x = self.attend(graph, x, &name, parts, mask)?;
            let (name, of_layer) = (format!("{layer}.encoder_attn"), format!("{number}.encoder"));
            let parts = match memory {
                Some(memory) => {
                    let parts = self.keys_and_values(graph, memory, &name)?;
                    graph.give_parts(&of_layer, parts, self.heads, "encoder_sequence")
                }
                None => graph.take_parts(&of_layer, self.heads, "encoder_sequence"),
            };
            x = self.attend(graph, x, &name, parts, of_source)?;
            x = self.feed_forward(graph, x, &layer)?;
        }
        let last = graph.last_tokens(x);
        let shared = format!("{}shared.weight", self.prefix);
        let mut logits = words(graph, last, "lm_head.weight", &shared, [self.hidden, vocabulary])?;
        if graph.has("final_logits_bias") {
            let bias = graph.weight("final_logits_bias", &[1, vocabulary])?;
            logits = graph.add(logits, bias);
        }
        give_logits(graph, logits, vocabulary);
        Ok(())
    }
}
