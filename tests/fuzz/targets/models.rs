//! Model files of any kind: a file whose sections have their right keys and the wrong content is refused, or works.
//!
//! A changed section would be stopped by its key. So keys are made right first, as whoever forges a file would. The encoder that the seed
//! `head` names lies beside the file.

use std::collections::BTreeSet;
use std::path::Path;

use inkstone_features::models::open_model;
use inkstone_features::standalone::Line;
use inkstone_models::{ModelFile, ModelHeader, write_model};
use serde_json::Value;

use super::{ctx, with_file};

/// The encoder of the seed `head`.
const ENCODER: &[u8] = include_bytes!("../seeds/models/lsa");

pub(super) fn check(bytes: &[u8]) {
    with_file("m.model", bytes, |path| {
        if let Ok(file) = ModelFile::open(path) {
            // Either is right, and neither may fail by itself.
            let _ = file.verify();
        }
        let Some((header, sections)) = taken_apart(bytes) else { return };
        let sections: Vec<(&str, &[u8])> = sections.iter().map(|(name, bytes)| (name.as_str(), *bytes)).collect();
        write_model(path, &header, &sections).expect("any sections can be written");
        ModelFile::open(path).and_then(|file| file.verify()).expect("a model that was written is whole");
        std::fs::write(path.with_file_name("encoder.model"), ENCODER).expect("a file in a temporary folder");
        let Ok((model, _)) = open_model(path, None, None, Path::new("."), ctx()) else { return };
        let lines = ["公司 净利润 同比 增长 三成", ""].map(|text| Line { text: text.into(), ..Line::default() });
        // A model may be of a kind that has none of these, which is an error and no panic.
        let _ = (model.columns(), model.rows(&lines), model.explain(&lines[0], None));
    });
}

/// The header and the sections that lie within the file.
fn taken_apart(bytes: &[u8]) -> Option<(ModelHeader, Vec<(String, &[u8])>)> {
    let length = u32::from_le_bytes(bytes.get(12..16)?.try_into().ok()?) as usize;
    let text = bytes.get(16..16 + length)?;
    let mut stored: Value = serde_json::from_slice(text).ok()?;
    let base = (16 + length).next_multiple_of(64);
    let sections = stored.as_object_mut()?.remove("sections")?;
    let section = |section: &Value| {
        let (offset, length) = (section["offset"].as_u64()? as usize, section["length"].as_u64()? as usize);
        let bytes = bytes.get(base..)?.get(offset..)?.get(..length)?;
        Some((section["name"].as_str()?.to_owned(), bytes))
    };
    let sections = sections.as_array()?.iter().map(section).collect::<Option<Vec<_>>>()?;
    // Of two sections of one name the first is read, and the other is damage.
    let names: BTreeSet<&str> = sections.iter().map(|(name, _)| name.as_str()).collect();
    if names.len() < sections.len() {
        return None;
    }
    Some((serde_json::from_value(stored).ok()?, sections))
}
