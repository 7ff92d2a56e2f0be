//! JSON with a seal: the first line has the format and the BLAKE3 of all that follows it, in every format to come.
//!
//! An object has the seal as its first member, so that other tools find its members as usual; any other value stands under `content`:
//!
//! ```text
//! {"seal": "inkstone 1 00112233445566778899aabbccddeeff",
//!   "factor": "tone",
//! ```

use std::io::{ErrorKind, Write};
use std::path::Path;

use anyhow::{Context, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::FORMAT;
use super::flaw::{Damage, Flaw, check_format};
use super::write_atomic;
use crate::data::Key;
use crate::{bail, message};

const BEGINS: &str = "{\"seal\": \"inkstone ";
/// Between the seal and the rest, where that is the rest of an object.
const MEMBERS: &str = ",\n";
/// Between the seal and a value that is no object.
const CONTENT: &str = ", \"content\":\n";
/// End of a text.
const CLOSES: &str = "}\n";

/// Writes a value as indented JSON with a seal.
pub fn write_json(path: &Path, value: &impl Serialize) -> Result<()> {
    write_json_of(path, value, FORMAT)
}

/// Writes sealed JSON in any format, for tests.
#[doc(hidden)]
pub fn write_json_of(path: &Path, value: &impl Serialize, format: u32) -> Result<()> {
    let text = sealed(&serde_json::to_string_pretty(value)?, format);
    write_atomic(path, |out| Ok(out.write_all(text.as_bytes())?))
}

/// Reads a sealed JSON file, if it is as it was written.
pub fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T> {
    parse(path, open(path)?)
}

/// Reads a sealed JSON file that can be made again: none where there is none, and where it is not as it was written. Fails where the disk
/// does not give the file: then nobody knows what stands in it.
pub fn read_json_if_whole<T: DeserializeOwned>(path: &Path) -> Result<Option<T>> {
    match read_json(path) {
        Ok(value) => Ok(Some(value)),
        Err(error) => match error.downcast_ref::<std::io::Error>() {
            Some(cause) if cause.kind() != ErrorKind::NotFound => Err(error),
            _ => Ok(None),
        },
    }
}

/// Reads a JSON file that may have no seal, such as one that another tool wrote. A seal that is there is checked.
pub fn read_unsealed_json<T: DeserializeOwned>(path: &Path) -> Result<T> {
    let text = std::fs::read(path).with_context(|| message!("无法读取 {}", "cannot read {}", path.display()))?;
    let text = if text.starts_with(BEGINS.as_bytes()) { open(path)? } else { text };
    parse(path, text)
}

/// The text of the value in a JSON file of ours, as it is without a seal.
pub fn content_of_json(path: &Path) -> Result<Vec<u8>> {
    let text = std::fs::read(path).with_context(|| message!("无法读取 {}", "cannot read {}", path.display()))?;
    let sealed = parts(&text).map_err(|flaw| Damage::new(path, flaw))?;
    Ok(match sealed.members {
        true => [b"{\n", sealed.rest].concat(),
        false => [&sealed.rest[..sealed.rest.len() - 2], b"\n"].concat(),
    })
}

/// The key in the seal of a JSON file, whose bytes are as they were written.
pub(super) fn check(text: &[u8]) -> Result<Key, Flaw> {
    parts(text).map(|sealed| sealed.key)
}

fn parse<T: DeserializeOwned>(path: &Path, text: Vec<u8>) -> Result<T> {
    serde_json::from_slice(&text)
        .with_context(|| message!("{} 不是本版本所写的格式", "{} is not what this version writes", path.display()))
}

/// The text of a file, blanks where its seal was.
fn open(path: &Path) -> Result<Vec<u8>> {
    let mut text = match std::fs::read(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => bail!(Damage::new(path, Flaw::Missing)),
        read => read.with_context(|| message!("无法读取 {}", "cannot read {}", path.display()))?,
    };
    let sealed = parts(&text).map_err(|flaw| Damage::new(path, flaw))?;
    let (first_line, members, length) = (text.len() - sealed.rest.len(), sealed.members, text.len());
    text[usize::from(members)..first_line].fill(b' ');
    if !members {
        text[length - CLOSES.len()..].fill(b' ');
    }
    Ok(text)
}

/// A text in its pieces.
struct Sealed<'a> {
    key: Key,
    /// True if the rest is the members of an object.
    members: bool,
    /// All after the first line.
    rest: &'a [u8],
}

/// The pieces of a text that is as it was written.
fn parts(text: &[u8]) -> Result<Sealed<'_>, Flaw> {
    let begins = BEGINS.as_bytes();
    if text.len() < begins.len() && begins.starts_with(text) {
        return Err(Flaw::CutShort);
    }
    let line = text.strip_prefix(begins).ok_or(Flaw::Unsealed)?;
    let length = line.iter().position(|byte| *byte == b'\n').ok_or(Flaw::CutShort)?;
    let (line, rest) = line.split_at(length + 1);
    let (format, key, members) = first_line(line).ok_or(Flaw::Altered)?;
    if key_of(format, rest) == key {
        return check_format(format).map(|()| Sealed { key, members, rest });
    }
    // Pages that were lost with the power read as zeros.
    Err(if rest.ends_with(CLOSES.as_bytes()) || rest.ends_with(&[0]) { Flaw::Altered } else { Flaw::CutShort })
}

/// Format and key in the first line, and true if the members of an object follow.
fn first_line(line: &[u8]) -> Option<(u32, Key, bool)> {
    let (format, line) = std::str::from_utf8(line).ok()?.split_once(' ')?;
    let (key, then) = line.split_once('"')?;
    let members = then == MEMBERS;
    let (number, read) = (format.parse::<u32>().ok()?, Key::from_hex(key)?);
    // Not a digit may be written otherwise.
    let as_written = (members || then == CONTENT) && number.to_string() == format && read.hex() == key;
    as_written.then_some((number, read, members))
}

fn key_of(format: u32, rest: &[u8]) -> Key {
    Key::of_parts([format.to_le_bytes().as_slice(), rest])
}

fn sealed(json: &str, format: u32) -> String {
    let (then, rest) = match json.strip_prefix("{\n") {
        Some(members) => (MEMBERS, format!("{members}\n")),
        None => (CONTENT, format!("{json}{CLOSES}")),
    };
    let key = key_of(format, rest.as_bytes());
    format!("{BEGINS}{format} {key}\"{then}{rest}")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn values() -> [Value; 5] {
        [
            json!({"name": "语调", "figures": [0.1, 1e-300], "none": null}),
            json!([{"a": 1}, []]),
            json!(null),
            json!({}),
            json!("x"),
        ]
    }

    #[test]
    fn any_value_comes_back_and_others_see_json() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.json");
        for value in values() {
            write_json(&path, &value).unwrap();
            assert_eq!(read_json::<Value>(&path).unwrap(), value);
            assert_eq!(read_unsealed_json::<Value>(&path).unwrap(), value);
            let plain = format!("{}\n", serde_json::to_string_pretty(&value).unwrap());
            assert_eq!(String::from_utf8(content_of_json(&path).unwrap()).unwrap(), plain);
            let seen: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
            assert!(seen["seal"].as_str().unwrap().starts_with("inkstone "), "{seen}");
            assert!(seen["name"] == value["name"] || seen["content"] == value, "{seen}");
            std::fs::write(&path, &plain).unwrap();
            assert_eq!(read_unsealed_json::<Value>(&path).unwrap(), value);
            assert_eq!(
                read_json::<Value>(&path).unwrap_err().downcast_ref(),
                Some(&Damage::new(&path, Flaw::Unsealed))
            );
        }
    }

    #[test]
    fn a_file_that_can_be_made_again_is_passed_over_unless_the_disk_fails() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.json");
        assert_eq!(read_json_if_whole::<Value>(&path).unwrap(), None);
        write_json(&path, &json!({"a": 1})).unwrap();
        assert_eq!(read_json_if_whole::<Value>(&path).unwrap(), Some(json!({"a": 1})));
        assert_eq!(read_json_if_whole::<Vec<u32>>(&path).unwrap(), None);
        std::fs::write(&path, "{}").unwrap();
        assert_eq!(read_json_if_whole::<Value>(&path).unwrap(), None);
        let error = format!("{:#}", read_json_if_whole::<Value>(dir.path()).unwrap_err());
        assert!(error.contains(dir.path().to_str().unwrap()), "a folder cannot be read: {error}");
    }

    #[test]
    fn no_text_is_served_that_is_cut_short_or_has_another_byte() {
        for value in values() {
            let text = sealed(&serde_json::to_string_pretty(&value).unwrap(), FORMAT).into_bytes();
            assert!(check(&text).is_ok());
            for length in 0..text.len() {
                assert_eq!(check(&text[..length]), Err(Flaw::CutShort), "{length}");
            }
            for at in 0..text.len() {
                for with in [text[at] ^ 1, text[at] ^ 0x20, 0] {
                    let mut damaged = text.clone();
                    damaged[at] = with;
                    let flaw = check(&damaged).unwrap_err();
                    assert!(matches!(flaw, Flaw::Altered | Flaw::Unsealed | Flaw::CutShort), "{flaw:?} at {at}");
                }
            }
        }
    }

    #[test]
    fn another_format_is_refused_with_both_numbers() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("state.json");
        for (format, age) in [(FORMAT - 1, "older"), (FORMAT + 1, "newer")] {
            write_json_of(&path, &json!([]), format).unwrap();
            let error = format!("{:#}", read_json::<Value>(&path).unwrap_err());
            let named = format!("{age} version (format {format}; this one reads format {FORMAT})");
            assert!(error.contains(&named), "{error}");
        }
    }
}
