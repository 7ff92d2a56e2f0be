//! Which nodes of a graph ran where, from what the library says when it makes a session.

use std::collections::BTreeMap;

use serde::Serialize;

/// The nodes of a session's graph by the provider that runs them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Placement {
    /// Number of nodes of each provider, `CPUExecutionProvider` among them.
    pub nodes: BTreeMap<String, usize>,
    /// The kinds of the nodes that run on the processor although another device was asked for, and how many of each.
    pub on_cpu: BTreeMap<String, usize>,
}

const ALL: &str = " All nodes placed on [";
const SOME: &str = " Node(s) placed on [";
const CPU: &str = "CPUExecutionProvider";

/// True if a message is one of those that [`Placement::new`] reads.
pub(super) fn speaks_of_it(message: &str) -> bool {
    message.starts_with(ALL) || message.starts_with(SOME) || named_node(message).is_some()
}

/// The kind of the node in a message such as `  MatMul (MatMul_12)`.
fn named_node(message: &str) -> Option<&str> {
    let (kind, name) = message.strip_prefix("  ")?.split_once(" (")?;
    let plain = !kind.is_empty() && kind.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.');
    (plain && name.ends_with(')')).then_some(kind)
}

impl Placement {
    /// Reads it from the messages of a session's making, in their order.
    pub fn new<'a>(messages: impl IntoIterator<Item = &'a str>) -> Placement {
        let mut placement = Placement::default();
        let mut provider = String::new();
        for message in messages {
            let heading = message.strip_prefix(ALL).or_else(|| message.strip_prefix(SOME));
            if let Some((name, rest)) = heading.and_then(|rest| rest.split_once(']')) {
                let count = rest.rsplit(' ').next().and_then(|count| count.parse().ok()).unwrap_or(0);
                *placement.nodes.entry(name.to_owned()).or_default() += count;
                provider = if message.starts_with(SOME) { name.to_owned() } else { String::new() };
            } else if let Some(kind) = named_node(message).filter(|_| provider == CPU) {
                *placement.on_cpu.entry(kind.to_owned()).or_default() += 1;
            }
        }
        placement
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_counted_by_provider_and_those_left_behind_by_kind() {
        let one =
            Placement::new(["Node placements", " All nodes placed on [CPUExecutionProvider]. Number of nodes: 117"]);
        assert_eq!(one.nodes, BTreeMap::from([(CPU.to_owned(), 117)]));
        assert!(one.on_cpu.is_empty());
        let two = Placement::new([
            " Node(s) placed on [CPUExecutionProvider]. Number of nodes: 3",
            "  Gather (/Gather_1)",
            "  Shape (Shape_2)",
            "  Gather (/Gather_7)",
            " Node(s) placed on [CUDAExecutionProvider]. Number of nodes: 2",
            "  MatMul (MatMul_3)",
            "  com.microsoft.FusedMatMul (x)",
        ]);
        assert_eq!(two.nodes[CPU], 3);
        assert_eq!(two.nodes["CUDAExecutionProvider"], 2);
        assert_eq!(two.on_cpu, BTreeMap::from([("Gather".to_owned(), 2), ("Shape".to_owned(), 1)]));
        assert!(!speaks_of_it("Use DeviceBasedPartition as default"));
    }
}
