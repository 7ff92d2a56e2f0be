//! Differences of two exports, and the first stage at which they differ.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value;

use super::{FileEntry, Manifest};

/// Changes of parameters that are listed one by one; the rest is counted.
const LISTED: usize = 40;

/// Difference of two exports.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Difference {
    /// The first stage, in the order in which they ran, that is not the same; none where all are.
    pub first: Option<StageDifference>,
    /// Inputs whose content differs or that only one has, by name.
    pub inputs: Vec<String>,
    /// Parameters that differ: where, what it was, what it is.
    pub parameters: Vec<Change>,
    /// Number of further parameters that differ.
    pub more_parameters: usize,
    /// Versions that differ: of what, what it was, what it is.
    pub versions: Vec<Change>,
    /// Files whose bytes differ.
    pub changed: Vec<String>,
    /// Files that only the first export has.
    pub missing: Vec<String>,
    /// Files that only the second export has.
    pub added: Vec<String>,
}

/// A stage at which two exports part.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StageDifference {
    pub stage: String,
    pub reason: Parting,
}

/// Reason for which two runs of a stage are not the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Parting {
    /// The parameters or inputs of the stage differ.
    ParametersOrInputs,
    /// The stage had the same parameters and inputs but other output: it is not reproducible there, or ran on another device.
    Output,
    /// Only one of the exports has it.
    OnlyInOne,
}

/// A value that differs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    /// Path, as `factor[0].decay`.
    pub at: String,
    /// Value in the first export.
    pub from: Value,
    /// Value in the second export.
    pub to: Value,
}

impl Difference {
    /// True if every file has the same bytes.
    pub fn same_files(&self) -> bool {
        self.changed.is_empty() && self.missing.is_empty() && self.added.is_empty()
    }
}

/// Compares two exports by their manifests.
pub fn difference(a: &Manifest, b: &Manifest) -> Difference {
    let mut made = Difference { first: first_stage(a, b), ..Difference::default() };
    let (of_a, of_b) = (&a.provenance, &b.provenance);
    let names: BTreeSet<&String> = of_a.inputs.keys().chain(of_b.inputs.keys()).collect();
    made.inputs = names.into_iter().filter(|name| of_a.inputs.get(*name) != of_b.inputs.get(*name)).cloned().collect();
    let mut changes = Vec::new();
    compare("", &of_a.parameters, &of_b.parameters, &mut changes);
    compare("export", &value(&a.export), &value(&b.export), &mut changes);
    compare("seed", &of_a.seed.into(), &of_b.seed.into(), &mut changes);
    made.more_parameters = changes.len().saturating_sub(LISTED);
    changes.truncate(LISTED);
    made.parameters = changes;
    compare("", &value(&of_a.versions), &value(&of_b.versions), &mut made.versions);
    let by_path = |files: &[FileEntry]| -> BTreeMap<String, String> {
        files.iter().map(|file| (file.path.clone(), file.blake3.clone())).collect()
    };
    let (files_a, files_b) = (by_path(&a.files), by_path(&b.files));
    for (path, hash) in &files_a {
        match files_b.get(path) {
            None => made.missing.push(path.clone()),
            Some(other) if other != hash => made.changed.push(path.clone()),
            Some(_) => {}
        }
    }
    made.added = files_b.into_keys().filter(|path| !files_a.contains_key(path)).collect();
    made
}

fn first_stage(a: &Manifest, b: &Manifest) -> Option<StageDifference> {
    let parts = |stage: &str, reason| Some(StageDifference { stage: stage.to_owned(), reason });
    for stage in &a.provenance.stages {
        let Some(other) = b.provenance.stages.iter().find(|other| other.stage == stage.stage) else {
            return parts(&stage.stage, Parting::OnlyInOne);
        };
        if stage.key != other.key {
            return parts(&stage.stage, Parting::ParametersOrInputs);
        }
        if stage.output != other.output {
            return parts(&stage.stage, Parting::Output);
        }
    }
    let known = |name: &str| a.provenance.stages.iter().any(|stage| stage.stage == name);
    let added = b.provenance.stages.iter().find(|stage| !known(&stage.stage));
    added.and_then(|stage| parts(&stage.stage, Parting::OnlyInOne))
}

fn value(value: &impl Serialize) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}

/// Notes every leaf of two trees that differs.
fn compare(at: &str, a: &Value, b: &Value, changes: &mut Vec<Change>) {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => {
            let keys: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            for key in keys {
                let at = if at.is_empty() { key.clone() } else { format!("{at}.{key}") };
                compare(&at, a.get(key).unwrap_or(&Value::Null), b.get(key).unwrap_or(&Value::Null), changes);
            }
        }
        (Value::Array(a), Value::Array(b)) => {
            for i in 0..a.len().max(b.len()) {
                let (a, b) = (a.get(i).unwrap_or(&Value::Null), b.get(i).unwrap_or(&Value::Null));
                compare(&format!("{at}[{i}]"), a, b, changes);
            }
        }
        _ if a == b => {}
        _ => changes.push(Change { at: at.to_owned(), from: a.clone(), to: b.clone() }),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::{Params, Provenance, StageNote};
    use super::*;
    use inkstone_base::data::Key;

    fn manifest(decay: &str, stages: &[(&str, &str, &str)], files: &[(&str, &str)]) -> Manifest {
        let note = |(stage, key, output): &(&str, &str, &str)| StageNote {
            stage: (*stage).to_owned(),
            key: Key::of(key.as_bytes()),
            output: Key::of(output.as_bytes()),
        };
        let provenance = Provenance {
            parameters: json!({"factor": [{"name": "tone", "decay": decay}]}),
            stages: stages.iter().map(note).collect(),
            ..Provenance::default()
        };
        let file = |(path, hash): &(&str, &str)| FileEntry {
            path: (*path).to_owned(),
            rows: 1,
            bytes: 1,
            blake3: (*hash).to_owned(),
        };
        let mut manifest = Manifest::new(&provenance, &Params::default());
        manifest.files = files.iter().map(file).collect();
        manifest
    }

    #[test]
    fn the_first_stage_that_parts_is_named_with_what_changed() {
        let a = manifest("none", &[("clean", "1", "x"), ("factor tone", "2", "y")], &[("a", "1"), ("b", "2")]);
        assert_eq!(difference(&a, &a), Difference::default());
        let b = manifest("linear", &[("clean", "1", "x"), ("factor tone", "3", "z")], &[("a", "9"), ("c", "2")]);
        let found = difference(&a, &b);
        let first = StageDifference { stage: "factor tone".to_owned(), reason: Parting::ParametersOrInputs };
        assert_eq!(found.first, Some(first));
        let change = Change { at: "factor[0].decay".to_owned(), from: "none".into(), to: "linear".into() };
        assert_eq!(found.parameters, [change]);
        assert_eq!((found.changed, found.missing, found.added), (vec!["a".into()], vec!["b".into()], vec!["c".into()]));
    }

    #[test]
    fn the_same_key_with_another_output_is_said() {
        let a = manifest("none", &[("extract bert", "1", "cpu")], &[]);
        let b = manifest("none", &[("extract bert", "1", "cuda")], &[]);
        assert_eq!(difference(&a, &b).first.map(|first| first.reason), Some(Parting::Output));
        let longer = manifest("none", &[("extract bert", "1", "cpu"), ("factor f", "2", "z")], &[]);
        assert_eq!(difference(&a, &longer).first.map(|first| first.stage), Some("factor f".to_owned()));
        assert!(difference(&a, &longer).same_files());
    }
}
