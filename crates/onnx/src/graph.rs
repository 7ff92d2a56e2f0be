//! Roles of the inputs and outputs of a graph: read from their names and shapes, never assumed.

use std::path::Path;

use anyhow::Result;

use super::session::{Element, Port, unknown_input};

use inkstone_base::ensure;
use inkstone_base::language::Word;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Numbers of tokens `[batch, tokens]`.
    Ids,
    /// Characters of words `[batch, words, characters]`.
    Characters,
    /// 1 where a token is real, 0 where it fills up, `[batch, tokens]`.
    Mask,
    /// Which token sees which, `[batch, tokens, tokens]`, perhaps with a further 1 behind the batch.
    PairMask,
    /// Segments `[batch, tokens]`.
    Types,
    /// Kinds of task of ERNIE `[batch, tokens]`: 0 for all.
    Tasks,
    /// Places in the text `[batch, tokens]`.
    Positions,
    /// Memory of layer `n` of the segment before, `[memory, batch, hidden]`.
    Memory(usize),
    /// Keys or values of a layer for the tokens before, `[batch, heads, tokens, size]`.
    Past,
    /// True if there are such tokens, `[1]`.
    UsePast,
    /// The number of last tokens for which logits are given, a number or `[1]`.
    LastTokens,
    /// Vectors of the source from an encoder `[batch, tokens, hidden]`.
    EncoderStates,
    /// The mask of the source.
    EncoderMask,
}

const KNOWN: Word = Word(
    "input_ids、attention_mask、token_type_ids、task_type_ids、position_ids、mems.N，解码器另有 encoder_hidden_states 与 encoder_attention_mask",
    "input_ids, attention_mask, token_type_ids, task_type_ids, position_ids, mems.N, and for decoders encoder_hidden_states and encoder_attention_mask",
);

/// The role of each input of a graph, in its order.
pub(crate) fn roles(path: &Path, inputs: &[Port]) -> Result<Vec<Role>> {
    let mut roles = Vec::with_capacity(inputs.len());
    let alone = inputs.iter().filter(|port| port.is_integer() && port.rank() == 2).count() == 1;
    for port in inputs {
        let name = port.name.to_ascii_lowercase();
        let role = match (name.as_str(), port.rank()) {
            _ if number_of(&name, "mems").is_some() && port.rank() == 3 => {
                Role::Memory(number_of(&name, "mems").unwrap_or(0))
            }
            _ if name.starts_with("past_key_values") && port.rank() == 4 => Role::Past,
            ("use_cache_branch", _) => Role::UsePast,
            ("num_logits_to_keep" | "logits_to_keep", 0 | 1) => Role::LastTokens,
            ("encoder_hidden_states", 3) => Role::EncoderStates,
            ("encoder_attention_mask", 2) => Role::EncoderMask,
            ("input_ids" | "decoder_input_ids" | "input" | "ids" | "tokens" | "word_ids", 2) => Role::Ids,
            ("input_ids" | "input" | "char_ids" | "characters", 3) if port.is_integer() => Role::Characters,
            ("attention_mask" | "input_mask" | "mask", 2) => Role::Mask,
            ("attention_mask" | "input_mask" | "mask", 3 | 4) => Role::PairMask,
            ("token_type_ids" | "segment_ids" | "segments", 2) => Role::Types,
            ("task_type_ids", 2) => Role::Tasks,
            ("position_ids" | "positions", 2) => Role::Positions,
            _ if alone && port.is_integer() && port.rank() == 2 => Role::Ids,
            _ => {
                unknown_input(path, port, KNOWN)?;
                continue;
            }
        };
        let fits = match role {
            Role::Ids | Role::Characters | Role::Types | Role::Tasks | Role::Positions | Role::LastTokens => {
                port.is_integer()
            }
            Role::Memory(_) | Role::EncoderStates | Role::Past => port.is_float(),
            Role::Mask | Role::PairMask | Role::EncoderMask | Role::UsePast => port.element != Element::Other,
        };
        ensure!(
            fits,
            "{} 的输入 {port} 类型与名称所示不符",
            "{} takes an input {port}, whose type does not fit what its name says it is",
            path.display()
        );
        roles.push(role);
    }
    let reads = roles.iter().any(|role| matches!(role, Role::Ids | Role::Characters));
    let given: Vec<String> = inputs.iter().map(Port::to_string).collect();
    ensure!(
        reads,
        "{} 不接受词元编号（input_ids）；它接受 {}",
        "{} takes no numbers of tokens (input_ids); it takes {}",
        path.display(),
        given.join(", ")
    );
    Ok(roles)
}

/// The number behind a name: `mems.3` or `mems_3` is `mems` 3.
fn number_of(name: &str, stem: &str) -> Option<usize> {
    name.strip_prefix(stem)?.strip_prefix(['.', '_'])?.parse().ok()
}

/// The layer and part of an input of keys or values (`past_key_values.3.decoder.key` is `.3.decoder.key`).
pub(crate) fn past(input: &Port) -> Option<&str> {
    input.name.strip_prefix("past_key_values").filter(|_| input.rank() == 4)
}

/// The layer and part of an output of keys or values (`present.3.decoder.key` is `.3.decoder.key`).
pub(crate) fn present(output: &Port) -> Option<&str> {
    let stems = ["present_key_values", "present"];
    stems.iter().find_map(|stem| output.name.strip_prefix(stem)).filter(|_| output.rank() == 4)
}

/// The hidden layers of a graph: where the vectors of tokens come from.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Hidden {
    /// One output a layer, from the embeddings on; the last is the model's own last.
    Each(Vec<String>),
    /// All layers in one output `[batch, layers, tokens, hidden]`.
    Stacked(String, usize),
    /// Only the last layer.
    Last(String),
}

impl Hidden {
    /// Finds them among the outputs.
    pub(crate) fn new(outputs: &[Port]) -> Option<Hidden> {
        let float = |rank: usize| outputs.iter().filter(move |port| port.is_float() && port.rank() == rank);
        let mut each: Vec<(usize, &str)> = float(3)
            .filter_map(|port| Some((number_of(&port.name.to_ascii_lowercase(), "hidden_states")?, port.name.as_str())))
            .collect();
        each.sort_unstable();
        if each.len() > 1 && each.iter().enumerate().all(|(i, (number, _))| i == *number) {
            return Some(Hidden::Each(each.into_iter().map(|(_, name)| name.to_owned()).collect()));
        }
        let stacked =
            float(4).find(|port| ["layers", "all_hidden_states", "hidden_states"].contains(&port.name.as_str()));
        if let Some(port) = stacked.filter(|port| port.shape[1] > 0) {
            return Some(Hidden::Stacked(port.name.clone(), port.shape[1] as usize));
        }
        Hidden::last(outputs).map(Hidden::Last)
    }

    /// The output of the last layer.
    pub(crate) fn last(outputs: &[Port]) -> Option<String> {
        let vectors = || outputs.iter().filter(|port| port.is_float() && port.rank() == 3);
        let named = ["last_hidden_state", "encoder_last_hidden_state", "token_embeddings", "sequence_output"];
        let by_name = named.iter().find_map(|name| vectors().find(|port| port.name == *name));
        let other = |port: &&Port| !["logits", "mems"].iter().any(|word| port.name.contains(word));
        let mut others = vectors().filter(other);
        let only = others.next().filter(|_| others.next().is_none());
        by_name.or(only).map(|port| port.name.clone())
    }

    /// Number of layers, the embeddings among them.
    pub(crate) fn layers(&self) -> usize {
        match self {
            Hidden::Each(names) => names.len(),
            Hidden::Stacked(_, layers) => *layers,
            Hidden::Last(_) => 1,
        }
    }
}

/// The output of a name that ends in this word and has this rank.
pub(crate) fn output<'a>(outputs: &'a [Port], words: &[&str], rank: usize) -> Option<&'a Port> {
    let fits = |port: &&Port| port.is_float() && port.rank() == rank;
    words.iter().find_map(|word| outputs.iter().filter(fits).find(|port| port.name == *word))
}

/// Outputs that hold the memory for the next segment, by layer.
pub(crate) fn memories(outputs: &[Port]) -> Vec<String> {
    let mut found: Vec<(usize, &str)> = outputs
        .iter()
        .filter_map(|port| Some((number_of(&port.name.to_ascii_lowercase(), "new_mems")?, port.name.as_str())))
        .collect();
    found.sort_unstable();
    found.into_iter().map(|(_, name)| name.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn port(name: &str, element: Element, shape: &[i64]) -> Port {
        Port { name: name.into(), element, shape: shape.to_vec() }
    }

    #[test]
    fn inputs_are_known_by_name_and_shape() {
        let inputs = [
            port("input_ids", Element::I64, &[-1, -1]),
            port("attention_mask", Element::F32, &[-1, -1, -1]),
            port("mems.1", Element::F32, &[-1, -1, 16]),
        ];
        assert_eq!(roles(Path::new("m"), &inputs).unwrap(), [Role::Ids, Role::PairMask, Role::Memory(1)]);
        let one = [port("x", Element::I32, &[-1, 128])];
        assert_eq!(roles(Path::new("m"), &one).unwrap(), [Role::Ids]);
        let picture = [port("pixel_values", Element::F32, &[-1, 3, 8, 8])];
        let error = roles(Path::new("m.onnx"), &picture).unwrap_err().to_string();
        assert!(error.contains("m.onnx") && error.contains("pixel_values F32[?, 3, 8, 8]"), "{error}");
        let text = [port("input_ids", Element::F32, &[-1, -1])];
        let error = roles(Path::new("m"), &text).unwrap_err().to_string();
        assert!(error.contains("input_ids F32") && error.contains("does not fit"), "{error}");
    }

    #[test]
    fn layers_are_found_however_they_are_given() {
        let vectors = |name: &str| port(name, Element::F32, &[-1, -1, 16]);
        let each = [vectors("last_hidden_state"), vectors("hidden_states.1"), vectors("hidden_states.0")];
        assert_eq!(Hidden::new(&each), Some(Hidden::Each(vec!["hidden_states.0".into(), "hidden_states.1".into()])));
        let stacked = [port("layers", Element::F32, &[-1, 3, -1, 32])];
        assert_eq!(Hidden::new(&stacked), Some(Hidden::Stacked("layers".into(), 3)));
        assert_eq!(Hidden::new(&[vectors("output"), vectors("logits")]), Some(Hidden::Last("output".into())));
        assert_eq!(Hidden::new(&[vectors("a"), vectors("b")]), None);
        assert_eq!(Hidden::new(&[port("logits", Element::F32, &[-1, 3])]), None);
    }
}
