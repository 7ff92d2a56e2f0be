//! Keys and values of the database, and the envelope of every value.
//!
//! | key | value |
//! |---|---|
//! | `b` set batch | the [`BatchRecord`], JSON; written when the batch's file is there (see `files`) |
//!
//! Headers (`h` set) and blocks of rows (`r` set batch number, the number big-endian) lie in files, and have a key for their envelopes.
//!
//! Envelope, little-endian: `magic "IKS1"`, `crc32: u32` of key and content, content. The checksum covers the key, so
//! a value that turns up under another key is refused as well as one with a flipped bit.

use anyhow::{Context, Result};
use chrono::NaiveDateTime;
use serde::{Deserialize, Serialize};

use super::{RowKind, Rows};
use inkstone_base::data::Key;
use inkstone_base::ensure;
use inkstone_base::language::Word;

const MAGIC: &[u8; 4] = b"IKS1";
/// Bytes of an envelope besides its content.
pub(super) const ENVELOPE: usize = 8;

/// A feature set before its rows: all but the name determines the rows, and its hash is the set's id.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SetSpec {
    /// The user's name for the feature; of several features with the same rows, the name of one.
    pub name: String,
    /// The shape of its rows.
    pub kind: RowKind,
    /// Model, parameters, dictionary hashes, version of the code: whatever would change a row if it changed.
    pub params: serde_json::Value,
    /// The last time of the data that anything in it was fitted on; `None` when nothing was fitted.
    pub fitted_until: Option<NaiveDateTime>,
}

impl SetSpec {
    /// The id of the set with this specification: a content address. Neither the name nor the order of keys in `params` matters.
    pub fn id(&self) -> Key {
        let mut params = self.params.clone();
        params.sort_all_objects();
        Key::of_json(&(self.kind, params, self.fitted_until))
    }
}

/// A finished feature set: its specification and the batches of its corpus in order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// Everything that determines the rows.
    pub spec: SetSpec,
    /// The batches, in the order of the corpus.
    pub batches: Vec<BatchEntry>,
    pub rows: u64,
    /// Further data of the writer; not part of the id.
    pub meta: serde_json::Value,
}

impl Header {
    pub fn id(&self) -> Key {
        self.spec.id()
    }

    /// Bytes of its blocks.
    pub fn bytes(&self) -> u64 {
        self.batches.iter().map(|b| b.record.bytes).sum()
    }
}

/// A batch of a finished set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchEntry {
    pub key: Key,
    #[serde(flatten)]
    pub record: BatchRecord,
}

/// Record of a batch. The digest identifies its rows: a header accepts no other rows in their place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchRecord {
    pub rows: u64,
    pub blocks: u32,
    /// Bytes of these blocks.
    pub bytes: u64,
    /// Hash of the blocks' contents in order.
    pub digest: Key,
}

impl BatchRecord {
    /// The record of rows and the blocks that they were packed into.
    pub(super) fn new(rows: &Rows, blocks: &[Vec<u8>]) -> BatchRecord {
        BatchRecord {
            rows: rows.len() as u64,
            blocks: blocks.len() as u32,
            bytes: blocks.iter().map(|b| b.len() as u64).sum(),
            digest: Key::of_parts(blocks.iter().map(Vec::as_slice)),
        }
    }
}

/// The key that the header of a set is sealed for.
pub(super) fn header_key(set: Key) -> Vec<u8> {
    [b"h".as_slice(), &set.0].concat()
}

/// The key of a batch's record.
pub(super) fn batch_key(set: Key, batch: Key) -> Vec<u8> {
    [b"b".as_slice(), &set.0, &batch.0].concat()
}

/// Set and batch of a record's key.
pub(super) fn parse_batch_key(key: &[u8]) -> Option<(Key, Key)> {
    let (set, batch) = key.strip_prefix(b"b")?.split_at_checked(16)?;
    Some((Key(set.try_into().ok()?), Key(batch.try_into().ok()?)))
}

/// Prefix of the keys of the records of a set's batches.
pub(super) fn batches_of(set: Key) -> Vec<u8> {
    [b"b".as_slice(), &set.0].concat()
}

/// The key that a block of a batch is sealed for.
pub(super) fn block_key(set: Key, batch: Key, number: u32) -> Vec<u8> {
    [b"r".as_slice(), &set.0, &batch.0, &number.to_be_bytes()].concat()
}

/// Puts `content` into its envelope for `key`.
pub fn seal(key: &[u8], content: &[u8]) -> Vec<u8> {
    let mut sealed = Vec::with_capacity(ENVELOPE + content.len());
    sealed.extend_from_slice(MAGIC);
    sealed.extend_from_slice(&checksum(key, content).to_le_bytes());
    sealed.extend_from_slice(content);
    sealed
}

/// Takes the content out of its envelope, or says what is wrong with it.
pub fn unseal<'a>(key: &[u8], sealed: &'a [u8]) -> Result<&'a [u8]> {
    let (head, content) = sealed.split_at_checked(ENVELOPE).context(Word("不完整", "is cut short"))?;
    ensure!(&head[..4] == MAGIC, "的格式不是本版本所读的", "is not of a format that this version reads");
    let kept = u32::from_le_bytes([head[4], head[5], head[6], head[7]]);
    ensure!(kept == checksum(key, content), "与其校验和不符", "does not match its checksum");
    Ok(content)
}

fn checksum(key: &[u8], content: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(key);
    hasher.update(content);
    hasher.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_read_back_and_blocks_sort_by_number() {
        let (set, batch) = (Key::of(b"set"), Key::of(b"batch"));
        assert_eq!(parse_batch_key(&batch_key(set, batch)), Some((set, batch)));
        assert!(batch_key(set, batch).starts_with(&batches_of(set)));
        assert!([header_key(set), batches_of(set), b"b".to_vec()].iter().all(|key| parse_batch_key(key).is_none()));
        assert!(block_key(set, batch, 255) < block_key(set, batch, 256));
    }

    #[test]
    fn an_envelope_refuses_flips_cuts_and_other_keys() {
        let sealed = seal(b"k", "正文".as_bytes());
        assert_eq!(unseal(b"k", &sealed).unwrap(), "正文".as_bytes());
        assert!(unseal(b"l", &sealed).is_err());
        for i in 0..sealed.len() {
            let mut torn = sealed.clone();
            torn[i] ^= 1;
            assert!(unseal(b"k", &torn).is_err(), "flip at {i}");
            assert!(unseal(b"k", &sealed[..i]).is_err(), "cut at {i}");
        }
    }

    #[test]
    fn the_id_ignores_the_name_and_the_order_of_parameters_and_nothing_else() {
        let spec = |params: &str, dim| SetSpec {
            name: "tone".into(),
            kind: RowKind::Dense { dim },
            params: serde_json::from_str(params).unwrap(),
            fitted_until: None,
        };
        let id = spec(r#"{"a": 1, "b": {"x": 1, "y": 2}}"#, 3).id();
        assert_eq!(id, spec(r#"{"b": {"y": 2, "x": 1}, "a": 1}"#, 3).id());
        assert_ne!(id, spec(r#"{"a": 1, "b": {"x": 1, "y": 3}}"#, 3).id());
        assert_ne!(id, spec(r#"{"a": 1, "b": {"x": 1, "y": 2}}"#, 4).id());
        let renamed = SetSpec { name: "mood".into(), ..spec(r#"{"a": 1, "b": {"x": 1, "y": 2}}"#, 3) };
        assert_eq!(renamed.id(), id, "a name determines no row");
    }
}
