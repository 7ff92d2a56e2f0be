//! BERT and the families that share its layers: RoBERTa, XLM-R, CamemBERT, ERNIE, ELECTRA, ALBERT, DistilBERT.

use anyhow::Result;

use super::attention::Heads;
use super::graph::{Attribute, Axis, GraphWriter, Value};
use super::settings::Settings;
use super::weights::Weights;
use super::{LOGITS, Wanted, body, first_token, give_classes, give_layers, give_token_head, give_tokens, words};
use crate::masked::WORDS_BESIDE;

use inkstone_base::ensure;

/// Names of the weights of a layer.
struct LayerNames {
    /// Queries, keys and values.
    attention: [&'static str; 3],
    attention_output: &'static str,
    attention_norm: &'static str,
    inner: &'static str,
    output: &'static str,
    norm: &'static str,
}

const BERT: LayerNames = LayerNames {
    attention: ["attention.self.query", "attention.self.key", "attention.self.value"],
    attention_output: "attention.output.dense",
    attention_norm: "attention.output.LayerNorm",
    inner: "intermediate.dense",
    output: "output.dense",
    norm: "output.LayerNorm",
};

const ALBERT: LayerNames = LayerNames {
    attention: ["attention.query", "attention.key", "attention.value"],
    attention_output: "attention.dense",
    attention_norm: "attention.LayerNorm",
    inner: "ffn",
    output: "ffn_output",
    norm: "full_layer_layer_norm",
};

const DISTILBERT: LayerNames = LayerNames {
    attention: ["attention.q_lin", "attention.k_lin", "attention.v_lin"],
    attention_output: "attention.out_lin",
    attention_norm: "sa_layer_norm",
    inner: "ffn.lin1",
    output: "ffn.lin2",
    norm: "output_layer_norm",
};

/// Sizes of the body, with the function between its inner layers.
struct Body<'s> {
    prefix: &'static str,
    family: &'s str,
    hidden: usize,
    inner: usize,
    heads: Heads,
    activation: &'s str,
    epsilon: f32,
    /// Values of the vectors of the vocabulary.
    embedded: usize,
    vocabulary: usize,
}

pub(super) fn write(graph: &mut GraphWriter<'_>, weights: &Weights, settings: &Settings, wanted: Wanted) -> Result<()> {
    settings.only("position_embedding_type", "absolute")?;
    ensure!(
        !settings.flag("is_decoder"),
        "config.json 写有 is_decoder，而这里只认识该系列的编码器",
        "config.json says is_decoder, and only encoders of this family are known here"
    );
    let family = settings.text("model_type").unwrap_or_default();
    let distil = family == "distilbert";
    let [hidden, inner, layers, heads, activation] = if distil {
        ["dim", "hidden_dim", "n_layers", "n_heads", "activation"]
    } else {
        ["hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "hidden_act"]
    };
    let prefix = match family {
        "roberta" | "xlm-roberta" | "camembert" => "roberta.",
        "ernie" => "ernie.",
        "electra" => "electra.",
        "albert" => "albert.",
        "distilbert" => "distilbert.",
        _ => "bert.",
    };
    let (hidden, layers) = (settings.size(hidden)?, settings.layers(layers)?);
    let parts = Body {
        prefix: body(weights, prefix),
        family,
        hidden,
        inner: settings.size(inner)?,
        heads: Heads::new(hidden, settings.size(heads)?)?,
        activation: settings.text(activation).unwrap_or("gelu"),
        epsilon: settings.number("layer_norm_eps").unwrap_or(1e-12) as f32,
        embedded: settings.size_or("embedding_size", hidden)?,
        vocabulary: settings.size("vocab_size")?,
    };
    let (mut x, mask) = parts.embed(graph, settings)?;
    let mask = graph.mask_all(mask);
    let mut states = vec![x];
    for layer in 0..layers {
        let (names, layer) = match family {
            "albert" => {
                let groups = settings.size_or("num_hidden_groups", 1)?;
                let inner = settings.size_or("inner_group_num", 1)?;
                ensure!(
                    inner == 1,
                    "config.json 的 inner_group_num = {inner}，这里只认识 1",
                    "config.json has inner_group_num = {inner}, and only 1 is known here"
                );
                // Layers of a group share their weights.
                let group = layer * groups / layers;
                (ALBERT, format!("{}encoder.albert_layer_groups.{group}.albert_layers.0", parts.prefix))
            }
            "distilbert" => (DISTILBERT, format!("{}transformer.layer.{layer}", parts.prefix)),
            _ => (BERT, format!("{}encoder.layer.{layer}", parts.prefix)),
        };
        x = parts.layer(graph, x, mask, &layer, &names)?;
        states.push(x);
    }
    if wanted.vectors() {
        give_layers(graph, &states, hidden);
    }
    let class = settings.class();
    if class.ends_with("ForSequenceClassification") && wanted.vectors() {
        let classes = settings.labels()?;
        let logits = parts.classes(graph, x, classes)?;
        give_classes(graph, logits, classes);
    } else if wanted.vectors() && give_token_head(graph, settings, x, hidden)? {
        // The head is given out.
    } else if class.ends_with("ForMultipleChoice") && wanted.vectors() {
        // A choice is read as a text of its own.
        let logits = parts.choice(graph, x)?;
        give_classes(graph, logits, 1);
    } else if let Some(pooler) = parts.pooler(graph, x)?.filter(|_| wanted.vectors()) {
        give_pooler(graph, pooler, hidden);
        for (head, name) in
            [("cls.seq_relationship", "seq_relationship_logits"), ("sop_classifier.classifier", "sop_logits")]
        {
            // A head of three relations is none of next sentences.
            if graph.rows(&format!("{head}.weight")) == Some(2) {
                let logits = graph.linear(pooler, head, hidden, 2)?;
                graph.output(name, logits, &[Axis::Named("batch"), Axis::Size(2)]);
            }
        }
    }
    let masked = class.ends_with("ForMaskedLM") || (class.ends_with("ForPreTraining") && family != "electra");
    // A model of classes may keep the head by which it also learned words.
    let keeps_words =
        class.ends_with("ForSequenceClassification") && graph.has(&format!("{}.weight", parts.words_head()[0]));
    if (masked || keeps_words) && wanted.words() {
        let logits = parts.words(graph, x)?;
        let name = if masked { LOGITS } else { WORDS_BESIDE };
        give_tokens(graph, name, logits, parts.vocabulary);
    }
    let discriminates = family == "electra" && class.ends_with("ForPreTraining");
    if discriminates && wanted.words() {
        let logits = parts.replaced(graph, x)?;
        graph.output("logits", logits, &[Axis::Named("batch"), Axis::Named("sequence")]);
    }
    ensure!(
        masked || keeps_words || discriminates || wanted.vectors(),
        "它的类 {class:?} 不给出词表上的 logits；带掩码头的模型（ForMaskedLM）才给出",
        "its class {class:?} gives no logits over the vocabulary; a model with a head for masks (ForMaskedLM) does"
    );
    Ok(())
}

/// Gives out the model's own vector of a text.
fn give_pooler(graph: &mut GraphWriter<'_>, pooler: Value, hidden: usize) {
    graph.output("pooler_output", pooler, &[Axis::Named("batch"), Axis::Size(hidden)]);
}

impl Body<'_> {
    fn at(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    /// Vectors of tokens `[batch, tokens, hidden]`, and the mask `[batch, tokens]`.
    fn embed(&self, graph: &mut GraphWriter<'_>, settings: &Settings) -> Result<(Value, Value)> {
        let (ids, mask) = (graph.input("input_ids"), graph.input("attention_mask"));
        let table = graph.weight(&self.at("embeddings.word_embeddings.weight"), &[self.vocabulary, self.embedded])?;
        let mut x = graph.gather(table, ids, 0);
        let types = self.at("embeddings.token_type_embeddings.weight");
        if graph.has(&types) {
            let (table, kinds) = graph.table(&types, self.embedded)?;
            let vectors = if kinds == 1 {
                table
            } else {
                let types = graph.input("token_type_ids");
                graph.gather(table, types, 0)
            };
            x = graph.add(x, vectors);
        }
        let (table, _) = graph.table(&self.at("embeddings.position_embeddings.weight"), self.embedded)?;
        let places = if self.prefix == "roberta." || ["roberta", "xlm-roberta", "camembert"].contains(&self.family) {
            let pad = settings.number("pad_token_id").unwrap_or(1.0) as i64;
            roberta_places(graph, ids, pad)
        } else {
            let tokens = graph.size(ids, 1);
            let places = graph.range(tokens);
            graph.unsqueeze(places, &[0])
        };
        let vectors = graph.gather(table, places, 0);
        x = graph.add(x, vectors);
        if settings.flag("use_task_id") {
            let tasks = graph.input("task_type_ids");
            let (table, _) = graph.table(&self.at("embeddings.task_type_embeddings.weight"), self.embedded)?;
            let vectors = graph.gather(table, tasks, 0);
            x = graph.add(x, vectors);
        }
        x = graph.layer_norm(x, &self.at("embeddings.LayerNorm"), self.embedded, self.epsilon)?;
        let wider = match self.family {
            "albert" => Some("encoder.embedding_hidden_mapping_in"),
            "electra" if self.embedded != self.hidden => Some("embeddings_project"),
            _ => None,
        };
        if let Some(wider) = wider {
            x = graph.linear(x, &self.at(wider), self.embedded, self.hidden)?;
        }
        Ok((x, mask))
    }

    /// A layer: attention, then two dense layers, each added to what it read and normalised after that.
    fn layer(
        &self,
        graph: &mut GraphWriter<'_>,
        x: Value,
        mask: Value,
        layer: &str,
        names: &LayerNames,
    ) -> Result<Value> {
        let at = |name: &str| format!("{layer}.{name}");
        let mut parts = [x; 3];
        for (part, name) in parts.iter_mut().zip(names.attention) {
            let all = graph.linear(x, &at(name), self.hidden, self.hidden)?;
            *part = graph.divide_heads(all, self.heads.count, self.heads.size);
        }
        let read = graph.attend(parts, self.heads, mask);
        let read = graph.linear(read, &at(names.attention_output), self.hidden, self.hidden)?;
        let x = graph.add(read, x);
        let x = graph.layer_norm(x, &at(names.attention_norm), self.hidden, self.epsilon)?;
        let inner = graph.linear(x, &at(names.inner), self.hidden, self.inner)?;
        let inner = graph.activation(inner, self.activation)?;
        let inner = graph.linear(inner, &at(names.output), self.inner, self.hidden)?;
        let x = graph.add(inner, x);
        graph.layer_norm(x, &at(names.norm), self.hidden, self.epsilon)
    }

    /// The model's own vector of a text, `[batch, hidden]`, where it has one.
    fn pooler(&self, graph: &mut GraphWriter<'_>, x: Value) -> Result<Option<Value>> {
        let name = self.at(if self.family == "albert" { "pooler" } else { "pooler.dense" });
        if !graph.has(&format!("{name}.weight")) {
            return Ok(None);
        }
        let first = first_token(graph, x);
        let pooled = graph.linear(first, &name, self.hidden, self.hidden)?;
        graph.activation(pooled, "tanh").map(Some)
    }

    /// Logits of a text `[batch, classes]`.
    fn classes(&self, graph: &mut GraphWriter<'_>, x: Value, classes: usize) -> Result<Value> {
        let (read, name) = match self.family {
            "roberta" | "xlm-roberta" | "camembert" | "electra" => {
                let first = first_token(graph, x);
                let dense = graph.linear(first, "classifier.dense", self.hidden, self.hidden)?;
                let function = if self.family == "electra" { "gelu" } else { "tanh" };
                (graph.activation(dense, function)?, "classifier.out_proj")
            }
            "distilbert" => {
                let first = first_token(graph, x);
                let dense = graph.linear(first, "pre_classifier", self.hidden, self.hidden)?;
                (graph.activation(dense, "relu")?, "classifier")
            }
            _ => {
                let pooler = self.pooler(graph, x)?;
                ensure!(
                    pooler.is_some(),
                    "它没有读取类别所需的权重 {}pooler",
                    "it has no weights {}pooler, which its classes are read from",
                    self.prefix
                );
                (pooler.unwrap_or(x), "classifier")
            }
        };
        graph.linear(read, name, self.hidden, classes)
    }

    /// How well a choice fits, `[batch, 1]`.
    fn choice(&self, graph: &mut GraphWriter<'_>, x: Value) -> Result<Value> {
        let pooler = self.pooler(graph, x)?;
        ensure!(
            pooler.is_some(),
            "它没有读取选项所需的权重 {}pooler",
            "it has no weights {}pooler, which its choices are read from",
            self.prefix
        );
        graph.linear(pooler.unwrap_or(x), "classifier", self.hidden, 1)
    }

    /// Logits that a token took the place of another, `[batch, tokens]`.
    fn replaced(&self, graph: &mut GraphWriter<'_>, x: Value) -> Result<Value> {
        let dense = graph.linear(x, "discriminator_predictions.dense", self.hidden, self.hidden)?;
        let dense = graph.activation(dense, self.activation)?;
        let logits = graph.linear(dense, "discriminator_predictions.dense_prediction", self.hidden, 1)?;
        let first = graph.int(0);
        Ok(graph.gather(logits, first, 2))
    }

    /// The names of a dense layer, its norm, the weights of the words and their bias.
    fn words_head(&self) -> [&'static str; 4] {
        match self.family {
            "roberta" | "xlm-roberta" | "camembert" => {
                ["lm_head.dense", "lm_head.layer_norm", "lm_head.decoder", "lm_head.bias"]
            }
            "electra" => [
                "generator_predictions.dense",
                "generator_predictions.LayerNorm",
                "generator_lm_head",
                "generator_lm_head.bias",
            ],
            "albert" => ["predictions.dense", "predictions.LayerNorm", "predictions.decoder", "predictions.bias"],
            "distilbert" => ["vocab_transform", "vocab_layer_norm", "vocab_projector", "vocab_projector.bias"],
            _ => [
                "cls.predictions.transform.dense",
                "cls.predictions.transform.LayerNorm",
                "cls.predictions.decoder",
                "cls.predictions.bias",
            ],
        }
    }

    /// Logits over the vocabulary `[batch, tokens, vocabulary]`.
    fn words(&self, graph: &mut GraphWriter<'_>, x: Value) -> Result<Value> {
        let [dense, norm, decoder, bias] = self.words_head();
        let x = graph.linear(x, dense, self.hidden, self.embedded)?;
        // RoBERTa and ELECTRA have this function whatever that of their layers is.
        let fixed = ["roberta", "xlm-roberta", "camembert", "electra"].contains(&self.family);
        let x = graph.activation(x, if fixed { "gelu" } else { self.activation })?;
        let x = graph.layer_norm(x, norm, self.embedded, self.epsilon)?;
        let shared = self.at("embeddings.word_embeddings.weight");
        let x = words(graph, x, &format!("{decoder}.weight"), &shared, [self.embedded, self.vocabulary])?;
        let own = format!("{decoder}.bias");
        let bias = if graph.has(&own) { own.as_str() } else { bias };
        graph.bias(x, bias, self.vocabulary)
    }
}

/// Places of RoBERTa: tokens that are not filling are counted from the number behind the filling one.
fn roberta_places(graph: &mut GraphWriter<'_>, ids: Value, pad: i64) -> Value {
    let pad = graph.int(pad);
    let filling = graph.op("Equal", &[ids, pad], &[]);
    let real = graph.op("Not", &[filling], &[]);
    let real = graph.cast_int(real);
    let axis = graph.int(1);
    let count = graph.op("CumSum", &[real, axis], &[Attribute::Int("exclusive", 0)]);
    let count = graph.mul(count, real);
    graph.add(count, pad)
}
