//! The state of a training on disk: written beside the output after an epoch, as soon as half a minute's work would be lost;
//! read when the same training starts again; removed when its model is written.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::{ModelFile, ModelHeader, write_model};
use inkstone_base::data::Key;
use inkstone_base::disk;
use inkstone_base::language::Word;
use inkstone_base::message;

const KIND: &str = "checkpoint";
const VERSION: u32 = 3;
/// The work that may be lost.
const EVERY: Duration = Duration::from_secs(30);
/// Times that writing a state takes that lie between two checkpoints at least.
const SHARE: u32 = 20;

/// The checkpoint file of a training.
pub struct Checkpoint {
    path: PathBuf,
    key: Key,
    /// Time between two checkpoints; 0 in tests.
    every: Cell<Duration>,
    /// Time of the last checkpoint, or of the start.
    safe: Cell<Instant>,
}

impl Checkpoint {
    /// The checkpoint of the model `output`; `what` holds all that decides the result: parameters, seed and data.
    pub fn new(output: &Path, what: &Value) -> Result<Checkpoint> {
        let mut name = output.file_name().context(Word("输出没有名称", "the output has no name"))?.to_owned();
        name.push(".checkpoint");
        let (path, key) = (output.with_file_name(name), Key::of(what.to_string().as_bytes()));
        Ok(Checkpoint { path, key, every: Cell::new(EVERY), safe: Cell::new(Instant::now()) })
    }

    /// This one, to be written after every epoch.
    #[cfg(test)]
    pub(crate) fn eager(self) -> Checkpoint {
        Checkpoint { every: Cell::new(Duration::ZERO), ..self }
    }

    /// True if the state is worth keeping.
    pub fn is_due(&self) -> bool {
        self.safe.get().elapsed() >= self.every.get()
    }

    /// The state that an interrupted training of the same left.
    pub fn read(&self) -> Result<Option<ModelFile>> {
        if !self.path.exists() {
            return Ok(None);
        }
        let file = ModelFile::open_kind(&self.path, KIND, VERSION)
            .and_then(|file| file.verify().map(|()| file))
            .with_context(|| {
                message!("删除 {} 即可从头训练", "remove {} to train from the beginning", self.path.display())
            })?;
        Ok((file.param::<Key>("key")? == self.key).then_some(file))
    }

    /// Keeps a state: what is small, and sections of numbers.
    pub fn write(&self, state: Value, sections: &[(&str, &[u8])]) -> Result<()> {
        let params = json!({"key": self.key, "state": state});
        let header = ModelHeader { kind: KIND.to_owned(), version: VERSION, fitted_until: None, documents: 0, params };
        let began = Instant::now();
        write_model(&self.path, &header, sections).with_context(|| {
            message!("无法把训练状态保存在 {}", "cannot keep the state of the training in {}", self.path.display())
        })?;
        if !self.every.get().is_zero() {
            self.every.set(EVERY.max(began.elapsed() * SHARE));
        }
        self.safe.set(Instant::now());
        Ok(())
    }

    /// The training has ended and its model is written.
    pub fn remove(&self) -> Result<()> {
        disk::remove_if_there(&self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_taken_up_by_the_same_training_alone() {
        let dir = tempfile::tempdir().unwrap();
        let checkpoint = |what: &str| Checkpoint::new(&dir.path().join("m"), &json!(what)).unwrap();
        assert!(checkpoint("one").read().unwrap().is_none());
        checkpoint("one").write(json!({"epoch": 3}), &[("values", &[0, 0, 128, 63])]).unwrap();
        let file = checkpoint("one").read().unwrap().unwrap();
        assert_eq!(
            (file.param::<Value>("state").unwrap()["epoch"].as_u64(), file.numbers("values").unwrap()),
            (Some(3), &[1f32][..])
        );
        assert!(checkpoint("two").read().unwrap().is_none());
        let path = dir.path().join("m.checkpoint");
        let mut bytes = std::fs::read(&path).unwrap();
        let last = bytes.len() - 61;
        bytes[last] ^= 1;
        std::fs::write(&path, bytes).unwrap();
        let error = format!("{:#}", checkpoint("one").read().err().unwrap());
        assert!(error.contains("remove") && error.contains("m.checkpoint"), "{error}");
        checkpoint("one").remove().unwrap();
        checkpoint("one").remove().unwrap();
        assert!(!path.exists());
    }

    #[test]
    fn a_state_that_cannot_be_kept_says_where_and_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("m.checkpoint/with-something")).unwrap();
        let checkpoint = Checkpoint::new(&dir.path().join("m"), &json!(1)).unwrap();
        let error = format!("{:#}", checkpoint.write(json!({}), &[]).unwrap_err());
        assert!(error.contains("cannot keep the state") && error.contains("m.checkpoint"), "{error}");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
