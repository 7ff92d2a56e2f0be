//! The settings of an architecture in config.json.

use anyhow::{Context, Result};
use serde_json::{Map, Value};

use inkstone_base::limits;
use inkstone_base::{ensure, message};

pub(super) struct Settings {
    settings: Map<String, Value>,
    file: String,
}

impl Settings {
    pub(super) fn read(folder: &std::path::Path) -> Result<Settings> {
        let path = folder.join("config.json");
        let file = path.display().to_string();
        let bytes = limits::settings_file(&path).with_context(|| {
            message!(
                "{file} 说明权重属于何种结构，却无法读取：请取得整个文件夹",
                "{file} says of what architecture the weights are, and is not there to be read: fetch the whole folder"
            )
        })?;
        let settings = serde_json::from_slice(&bytes)
            .with_context(|| message!("{file} 不是设置的 JSON", "{file} is not JSON with settings"))?;
        Ok(Settings { settings, file })
    }

    pub(super) fn file(&self) -> &str {
        &self.file
    }

    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        self.settings.get(name).filter(|value| !value.is_null())
    }

    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.get(name).and_then(Value::as_str)
    }

    /// A size of at least 1.
    pub(super) fn size(&self, name: &str) -> Result<usize> {
        self.bounded(name, 1 << 24)
    }

    /// Number of layers. The graph has nodes for each of them, even where all share their weights.
    pub(super) fn layers(&self, name: &str) -> Result<usize> {
        self.bounded(name, limits::LAYERS)
    }

    fn bounded(&self, name: &str, most: usize) -> Result<usize> {
        let value = self.get(name).with_context(|| {
            message!("{} 没有 {name}：请重新获取模型", "{} has no {name}: fetch the model again", self.file)
        })?;
        let size = value.as_u64().filter(|size| (1..=most as u64).contains(size));
        let size = size.with_context(|| {
            message!(
                "{} 的 {name} = {value}，不是 1 到 {most} 的数",
                "{} has {name} = {value}, which is not a number from 1 to {most}",
                self.file
            )
        })?;
        Ok(size as usize)
    }

    pub(super) fn size_or(&self, name: &str, other: usize) -> Result<usize> {
        if self.get(name).is_some() { self.size(name) } else { Ok(other) }
    }

    pub(super) fn number(&self, name: &str) -> Option<f64> {
        self.get(name).and_then(Value::as_f64)
    }

    pub(super) fn flag(&self, name: &str) -> bool {
        self.get(name).and_then(Value::as_bool).unwrap_or(false)
    }

    /// Refuses a setting that has another value than this one.
    pub(super) fn only(&self, name: &str, value: &str) -> Result<()> {
        let found = self.text(name).unwrap_or(value);
        ensure!(
            found == value,
            "{} 的 {name} = {found:?}，这里只认识 {value:?}",
            "{} has {name} = {found:?}, and only {value:?} is known here",
            self.file
        );
        Ok(())
    }

    /// Classes of a head.
    pub(super) fn labels(&self) -> Result<usize> {
        match self.get("id2label").and_then(Value::as_object) {
            Some(labels) => Ok(labels.len()),
            None => self.size_or("num_labels", 2),
        }
    }

    /// The class of transformers that the weights are for, as `BertModel`; empty where the file does not say.
    pub(super) fn class(&self) -> &str {
        self.get("architectures").and_then(|all| all.get(0)).and_then(Value::as_str).unwrap_or_default()
    }
}
