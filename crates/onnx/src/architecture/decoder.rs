//! Models that read from left to right: GPT-2, Qwen2 and Qwen3.

use anyhow::Result;
use serde_json::Value as Json;

use super::attention::Heads;
use super::graph::{Attribute, GraphWriter, Value};
use super::settings::Settings;
use super::weights::Weights;
use super::{Wanted, body, give_classes, give_layers, give_logits, words};

use inkstone_base::{bail, ensure};

/// Gives out the vectors after each layer, or logits over the vocabulary.
fn give(
    graph: &mut GraphWriter<'_>,
    wanted: Wanted,
    states: &[Value],
    [embeddings, class]: [&str; 2],
    [hidden, vocabulary]: [usize; 2],
) -> Result<()> {
    if wanted.vectors() {
        give_layers(graph, states, hidden);
    }
    let writes = class.ends_with("ForCausalLM") || class.ends_with("LMHeadModel");
    match (states.last(), writes && wanted.words()) {
        (Some(last), true) => {
            let last = if wanted == Wanted::Writing { graph.last_tokens(*last) } else { *last };
            let logits = words(graph, last, "lm_head.weight", embeddings, [hidden, vocabulary])?;
            give_logits(graph, logits, vocabulary);
        }
        _ => ensure!(
            wanted.vectors(),
            "它的类 {class:?} 不给出词表上的 logits",
            "its class {class:?} gives no logits over the vocabulary"
        ),
    }
    Ok(())
}

/// Keys and values of a layer, behind those of the tokens before where a text is written.
fn remembered(
    graph: &mut GraphWriter<'_>,
    wanted: Wanted,
    layer: usize,
    parts: [Value; 2],
    heads: Heads,
) -> [Value; 2] {
    if wanted == Wanted::Writing { graph.remember(&layer.to_string(), parts, heads) } else { parts }
}

pub(super) fn write_gpt2(
    graph: &mut GraphWriter<'_>,
    weights: &Weights,
    settings: &Settings,
    wanted: Wanted,
) -> Result<()> {
    for setting in ["scale_attn_by_inverse_layer_idx", "add_cross_attention"] {
        ensure!(
            !settings.flag(setting),
            "config.json 有这里不认识的 {setting}",
            "config.json has {setting}, which is not known here"
        );
    }
    let prefix = body(weights, "transformer.");
    let (hidden, layers) = (settings.size("n_embd")?, settings.layers("n_layer")?);
    let (inner, vocabulary) = (settings.size_or("n_inner", 4 * hidden)?, settings.size("vocab_size")?);
    let heads = Heads::new(hidden, settings.size("n_head")?)?;
    let epsilon = settings.number("layer_norm_epsilon").unwrap_or(1e-5) as f32;
    let activation = settings.text("activation_function").unwrap_or("gelu_new");
    let (ids, seen) = (graph.input("input_ids"), graph.input("attention_mask"));
    let places = graph.input("position_ids");
    let embeddings = format!("{prefix}wte.weight");
    let table = graph.weight(&embeddings, &[vocabulary, hidden])?;
    let mut x = graph.gather(table, ids, 0);
    let (table, _) = graph.table(&format!("{prefix}wpe.weight"), hidden)?;
    let vectors = graph.gather(table, places, 0);
    x = graph.add(x, vectors);
    let mask = graph.mask_causal(seen, ids);
    let mut states = vec![x];
    for layer in 0..layers {
        let at = |name: &str| format!("{prefix}h.{layer}.{name}");
        let read = graph.layer_norm(x, &at("ln_1"), hidden, epsilon)?;
        let all = conv(graph, read, &at("attn.c_attn"), hidden, 3 * hidden)?;
        let split = [Attribute::Int("axis", -1), Attribute::Int("num_outputs", 3)];
        let parts: Vec<Value> = graph
            .split("Split", &[all], &split, 3)
            .into_iter()
            .map(|part| graph.divide_heads(part, heads.count, heads.size))
            .collect();
        let [keys, values] = remembered(graph, wanted, layer, [parts[1], parts[2]], heads);
        let read = graph.attend([parts[0], keys, values], heads, mask);
        let read = conv(graph, read, &at("attn.c_proj"), hidden, hidden)?;
        x = graph.add(read, x);
        let inner_x = graph.layer_norm(x, &at("ln_2"), hidden, epsilon)?;
        let inner_x = conv(graph, inner_x, &at("mlp.c_fc"), hidden, inner)?;
        let inner_x = graph.activation(inner_x, activation)?;
        let inner_x = conv(graph, inner_x, &at("mlp.c_proj"), inner, hidden)?;
        x = graph.add(inner_x, x);
        if layer + 1 == layers {
            x = graph.layer_norm(x, &format!("{prefix}ln_f"), hidden, epsilon)?;
        }
        states.push(x);
    }
    if settings.class().ends_with("ForSequenceClassification") && wanted.vectors() {
        let classes = settings.labels()?;
        let last = last_token(graph, x, seen);
        let logits = graph.linear(last, "score", hidden, classes)?;
        give_classes(graph, logits, classes);
    }
    give(graph, wanted, &states, [&embeddings, settings.class()], [hidden, vocabulary])
}

/// The vector of the last token that is no filling, `[batch, hidden]`.
pub(super) fn last_token(graph: &mut GraphWriter<'_>, x: Value, seen: Value) -> Value {
    let tokens = graph.size(seen, 1);
    let places = graph.range(tokens);
    let places = graph.mul(seen, places);
    let last = graph.op("ArgMax", &[places], &[Attribute::Int("axis", 1), Attribute::Int("keepdims", 1)]);
    graph.op("GatherND", &[x, last], &[Attribute::Int("batch_dims", 1)])
}

/// `Conv1D` of GPT-2: a dense layer whose weights are `[inputs, outputs]`.
fn conv(graph: &mut GraphWriter<'_>, x: Value, name: &str, inputs: usize, outputs: usize) -> Result<Value> {
    let weights = graph.weight(&format!("{name}.weight"), &[inputs, outputs])?;
    let x = graph.matmul(x, weights);
    graph.bias(x, &format!("{name}.bias"), outputs)
}

pub(super) fn write_qwen(
    graph: &mut GraphWriter<'_>,
    weights: &Weights,
    settings: &Settings,
    wanted: Wanted,
) -> Result<()> {
    ensure!(
        !settings.flag("use_sliding_window"),
        "config.json 有这里不认识的 use_sliding_window；请导出模型：optimum-cli export onnx",
        "config.json has use_sliding_window, which is not known here; export the model: optimum-cli export onnx"
    );
    // Models of vectors read in both directions by a class of their own, which says so in is_causal.
    let causal = settings.get("is_causal").and_then(Json::as_bool);
    ensure!(
        causal.is_some() || settings.get("auto_map").is_none(),
        "config.json 为模型指定了 Python 程序（auto_map），而没有说明是否单向阅读（is_causal）；请导出模型：optimum-cli export onnx",
        "config.json names a Python program for the model (auto_map), and does not say whether that reads in one direction (is_causal); export the model: optimum-cli export onnx"
    );
    let causal = causal.unwrap_or(true);
    ensure!(
        causal || wanted != Wanted::Writing,
        "config.json 说模型双向阅读（is_causal = false）；这样的模型不能写作",
        "config.json says that the model reads in both directions (is_causal = false); such a model writes no text"
    );
    let prefix = body(weights, "model.");
    let (hidden, layers) = (settings.size("hidden_size")?, settings.layers("num_hidden_layers")?);
    let (inner, vocabulary) = (settings.size("intermediate_size")?, settings.size("vocab_size")?);
    let count = settings.size("num_attention_heads")?;
    let size =
        if settings.get("head_dim").is_some() { settings.size("head_dim")? } else { Heads::new(hidden, count)?.size };
    let shared = settings.size_or("num_key_value_heads", count)?;
    ensure!(
        count.is_multiple_of(shared) && size.is_multiple_of(2),
        "config.json 有 {count} 个 {size} 维的头，与 {shared} 个键的头不符",
        "config.json has {count} heads of {size} values for {shared} heads of keys, which do not fit"
    );
    let heads = Heads { count, shared, size };
    let epsilon = settings.number("rms_norm_eps").unwrap_or(1e-6) as f32;
    let activation = settings.text("hidden_act").unwrap_or("silu");
    let (ids, mask) = (graph.input("input_ids"), graph.input("attention_mask"));
    let places = graph.input("position_ids");
    let embeddings = format!("{prefix}embed_tokens.weight");
    let table = graph.weight(&embeddings, &[vocabulary, hidden])?;
    let mut x = graph.gather(table, ids, 0);
    let rotation = graph.rotation(places, size, rope_base(settings, None, 1e4)?, "rope frequencies");
    let mask = if causal { graph.mask_causal(mask, ids) } else { graph.mask_all(mask) };
    let mut states = vec![x];
    for layer in 0..layers {
        let at = |name: &str| format!("{prefix}layers.{layer}.{name}");
        let read = graph.rms_norm(x, &at("input_layernorm"), hidden, epsilon)?;
        let mut parts = [read; 3];
        for (part, (name, heads_of_part)) in
            parts.iter_mut().zip([("q", heads.count), ("k", heads.shared), ("v", heads.shared)])
        {
            let all = graph.linear(read, &at(&format!("self_attn.{name}_proj")), hidden, heads_of_part * size)?;
            *part = graph.reshape(all, &[0, 0, heads_of_part as i64, size as i64]);
            let norm = at(&format!("self_attn.{name}_norm"));
            if name != "v" && graph.has(&format!("{norm}.weight")) {
                *part = graph.rms_norm(*part, &norm, size, epsilon)?;
            }
            *part = graph.transpose(*part, &[0, 2, 1, 3]);
            if name != "v" {
                *part = graph.rotate(*part, rotation);
            }
        }
        let [queries, keys, values] = parts;
        let [keys, values] = remembered(graph, wanted, layer, [keys, values], heads);
        let read = graph.attend([queries, keys, values], heads, mask);
        let read = graph.linear(read, &at("self_attn.o_proj"), heads.count * size, hidden)?;
        x = graph.add(read, x);
        let read = graph.rms_norm(x, &at("post_attention_layernorm"), hidden, epsilon)?;
        let gate = graph.linear(read, &at("mlp.gate_proj"), hidden, inner)?;
        let (gate, up) = (graph.activation(gate, activation)?, graph.linear(read, &at("mlp.up_proj"), hidden, inner)?);
        let inner_x = graph.mul(gate, up);
        let inner_x = graph.linear(inner_x, &at("mlp.down_proj"), inner, hidden)?;
        x = graph.add(inner_x, x);
        if layer + 1 == layers {
            x = graph.rms_norm(x, &format!("{prefix}norm"), hidden, epsilon)?;
        }
        states.push(x);
    }
    give(graph, wanted, &states, [&embeddings, settings.class()], [hidden, vocabulary])
}

/// The base of the rotations, of a kind of layer where `kind` names one; other forms than the default one are refused.
pub(super) fn rope_base(settings: &Settings, kind: Option<&str>, other: f64) -> Result<f64> {
    let all = settings.get("rope_parameters").or(settings.get("rope_scaling"));
    let own = all.and_then(|all| kind.map_or(Some(all), |kind| all.get(kind)));
    if let Some(own) = own {
        let form = own.get("rope_type").or(own.get("type")).and_then(Json::as_str).unwrap_or("default");
        if form != "default" {
            bail!(
                "config.json 的旋转位置编码为 {form:?}，这里只认识默认的",
                "config.json has rotations of the form {form:?}, and only the default one is known here"
            );
        }
    }
    let base = own.and_then(|own| own.get("rope_theta")).and_then(Json::as_f64);
    Ok(base.or(settings.number("rope_theta")).unwrap_or(other))
}
