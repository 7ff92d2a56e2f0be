//! ModernBERT: rotations for places, layers that see all tokens among layers that see near ones, gated dense layers, no bias.

use anyhow::Result;
use serde_json::Value as Json;

use super::attention::Heads;
use super::decoder::rope_base;
use super::graph::{Attribute, GraphWriter, Value};
use super::settings::Settings;
use super::weights::Weights;
use super::{Wanted, body, first_token, give_classes, give_layers, give_logits, words};

use inkstone_base::ensure;

pub(super) fn write(graph: &mut GraphWriter<'_>, weights: &Weights, settings: &Settings, wanted: Wanted) -> Result<()> {
    let prefix = body(weights, "model.");
    let (hidden, layers) = (settings.size("hidden_size")?, settings.layers("num_hidden_layers")?);
    let (inner, vocabulary) = (settings.size("intermediate_size")?, settings.size("vocab_size")?);
    let heads = Heads::new(hidden, settings.size("num_attention_heads")?)?;
    let epsilon = settings.number("norm_eps").unwrap_or(1e-5) as f32;
    let activation = settings.text("hidden_activation").unwrap_or("gelu");
    let (ids, given_mask) = (graph.input("input_ids"), graph.input("attention_mask"));
    let embeddings = format!("{prefix}embeddings.tok_embeddings.weight");
    let table = graph.weight(&embeddings, &[vocabulary, hidden])?;
    let x = graph.gather(table, ids, 0);
    let mut x = graph.layer_norm(x, &format!("{prefix}embeddings.norm"), hidden, epsilon)?;
    let tokens = graph.size(ids, 1);
    let places = graph.range(tokens);
    let places = graph.unsqueeze(places, &[0]);
    let theta = |name: &str, other: f64| settings.number(name).unwrap_or(other);
    let base = rope_base(settings, Some("full_attention"), theta("global_rope_theta", 160_000.0))?;
    let far = graph.rotation(places, heads.size, base, "rope frequencies of all");
    let base = rope_base(settings, Some("sliding_attention"), theta("local_rope_theta", 10_000.0))?;
    let near = graph.rotation(places, heads.size, base, "rope frequencies of near ones");
    let mask_far = graph.mask_all(given_mask);
    let mask_near = graph.mask_near(given_mask, settings.size_or("local_attention", 128)? / 2);
    let every = settings.size_or("global_attn_every_n_layers", 3)?;
    let kinds = settings.get("layer_types").and_then(Json::as_array);
    let mut states = vec![x];
    for layer in 0..layers {
        let at = |name: &str| format!("{prefix}layers.{layer}.{name}");
        let sees_all = match kinds.and_then(|kinds| kinds.get(layer)).and_then(Json::as_str) {
            Some(kind) => kind == "full_attention",
            None => layer % every == 0,
        };
        let (rotation, mask) = if sees_all { (far, mask_far) } else { (near, mask_near) };
        // The embeddings are normalised already.
        let read = if layer == 0 { x } else { graph.layer_norm(x, &at("attn_norm"), hidden, epsilon)? };
        let all = graph.linear(read, &at("attn.Wqkv"), hidden, 3 * hidden)?;
        let split = [Attribute::Int("axis", -1), Attribute::Int("num_outputs", 3)];
        let parts: Vec<Value> = graph
            .split("Split", &[all], &split, 3)
            .into_iter()
            .map(|part| graph.divide_heads(part, heads.count, heads.size))
            .collect();
        let (queries, keys) = (graph.rotate(parts[0], rotation), graph.rotate(parts[1], rotation));
        let read = graph.attend([queries, keys, parts[2]], heads, mask);
        let read = graph.linear(read, &at("attn.Wo"), hidden, hidden)?;
        x = graph.add(x, read);
        let read = graph.layer_norm(x, &at("mlp_norm"), hidden, epsilon)?;
        let both = graph.linear(read, &at("mlp.Wi"), hidden, 2 * inner)?;
        let split = [Attribute::Int("axis", -1), Attribute::Int("num_outputs", 2)];
        let both = graph.split("Split", &[both], &split, 2);
        let gated = graph.activation(both[0], activation)?;
        let gated = graph.mul(gated, both[1]);
        let read = graph.linear(gated, &at("mlp.Wo"), inner, hidden)?;
        x = graph.add(x, read);
        if layer + 1 == layers {
            x = graph.layer_norm(x, &format!("{prefix}final_norm"), hidden, epsilon)?;
        }
        states.push(x);
    }
    if wanted.vectors() {
        give_layers(graph, &states, hidden);
    }
    let class = settings.class();
    let head = |graph: &mut GraphWriter<'_>, x: Value| -> Result<Value> {
        let x = graph.linear(x, "head.dense", hidden, hidden)?;
        let x = graph.activation(x, settings.text("classifier_activation").unwrap_or("gelu"))?;
        graph.layer_norm(x, "head.norm", hidden, epsilon)
    };
    if class.ends_with("ForSequenceClassification") && wanted.vectors() {
        let pooled = match settings.text("classifier_pooling").unwrap_or("cls") {
            "cls" => first_token(graph, x),
            _ => mean(graph, x, given_mask),
        };
        let pooled = head(graph, pooled)?;
        let classes = settings.labels()?;
        let logits = graph.linear(pooled, "classifier", hidden, classes)?;
        give_classes(graph, logits, classes);
    } else if class.ends_with("ForTokenClassification") && wanted.vectors() {
        let read = head(graph, x)?;
        let classes = settings.labels()?;
        let logits = graph.linear(read, "classifier", hidden, classes)?;
        give_logits(graph, logits, classes);
    }
    let masked = class.ends_with("ForMaskedLM");
    if masked && wanted.words() {
        let read = head(graph, x)?;
        let logits = words(graph, read, "decoder.weight", &embeddings, [hidden, vocabulary])?;
        let logits = graph.bias(logits, "decoder.bias", vocabulary)?;
        give_logits(graph, logits, vocabulary);
    }
    ensure!(
        masked || wanted.vectors(),
        "它的类 {class:?} 不给出词表上的 logits",
        "its class {class:?} gives no logits over the vocabulary"
    );
    Ok(())
}

/// The mean of the vectors of a text's tokens, `[batch, hidden]`.
fn mean(graph: &mut GraphWriter<'_>, x: Value, mask: Value) -> Value {
    let mask = graph.unsqueeze(mask, &[2]);
    let mask = graph.cast_float(mask);
    let kept = graph.mul(x, mask);
    let axes = graph.ints(&[1]);
    let keep = || [Attribute::Int("keepdims", 0)];
    let (sum, count) = (graph.op("ReduceSum", &[kept, axes], &keep()), graph.op("ReduceSum", &[mask, axes], &keep()));
    graph.op("Div", &[sum, count], &[])
}
