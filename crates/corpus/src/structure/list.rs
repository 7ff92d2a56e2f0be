//! The list of boilerplate that the corpus taught, for the user to look through: one JSON object a line.

use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};
use chrono::NaiveDateTime;
use serde::{Deserialize, Serialize};

use super::decisions::Decisions;
use inkstone_base::data::Key;
use inkstone_base::disk;
use inkstone_base::{bail, message};

/// The user's decision on a sentence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Nothing yet: it counts.
    #[default]
    Proposed,
    Accepted,
    Refused,
}

/// A sentence of the list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Boilerplate {
    /// Ten hexadecimal digits, of publisher and normal form: the same in every run.
    pub id: String,
    /// Publisher; absent if the sentence is boilerplate of all publishers.
    pub publisher: Option<String>,
    /// Text of the first document that it stands in.
    pub text: String,
    /// Documents that it stands in, first mentions alone.
    pub documents: u32,
    /// Their share of the publisher's, or of all, in the whole corpus.
    pub share: f64,
    /// Time of the document in which it stood first.
    pub first_seen: NaiveDateTime,
    /// Since when it is known: documents published later are marked.
    pub known_from: NaiveDateTime,
    pub status: Status,
}

/// The id of a sentence of a publisher, or of everybody.
pub(super) fn id_of(publisher: Option<&str>, hash: u64) -> String {
    let whose: &[&[u8]] = match publisher {
        Some(name) => &[b"own", name.as_bytes()],
        None => &[b"all", b""],
    };
    let hash = hash.to_le_bytes();
    Key::of_parts(whose.iter().copied().chain([hash.as_slice()])).hex()[..10].to_owned()
}

/// Writes the list, by publisher, the most frequent first.
pub(super) fn write(path: &Path, list: &mut [Boilerplate]) -> Result<()> {
    list.sort_by(|a, b| {
        let order = a.publisher.cmp(&b.publisher).then(b.documents.cmp(&a.documents));
        order.then_with(|| a.text.cmp(&b.text)).then_with(|| a.id.cmp(&b.id))
    });
    disk::write_atomic(path, |out| {
        for row in list.iter() {
            serde_json::to_writer(&mut *out, row)?;
            out.write_all(b"\n")?;
        }
        Ok(())
    })
}

pub fn read_list(path: &Path) -> Result<Vec<Boilerplate>> {
    let text =
        std::fs::read_to_string(path).with_context(|| message!("无法读取 {}", "cannot read {}", path.display()))?;
    let row = |(i, line)| {
        serde_json::from_str(line).with_context(|| {
            message!(
                "{}:{} 不是本版本所写的格式；请重新运行",
                "{}:{} is not what this version writes; run again",
                path.display(),
                i + 1
            )
        })
    };
    text.lines().enumerate().map(row).collect()
}

/// Puts decisions on the sentences of these ids; an id that is not in the list is an error that names the nearest.
pub fn decide(list: &[Boilerplate], decisions: &mut Decisions, ids: &[String], status: Status) -> Result<()> {
    for id in ids {
        if !list.iter().any(|row| row.id == *id) {
            let mut near: Vec<(usize, &str)> =
                list.iter().map(|row| (strsim::osa_distance(id, &row.id), row.id.as_str())).collect();
            near.sort_unstable();
            let near: Vec<&str> = near.into_iter().filter(|(d, _)| *d <= 6).take(3).map(|(_, id)| id).collect();
            match near.is_empty() {
                true => bail!(
                    "没有编号为 {id:?} 的套话；列表共 {} 句",
                    "no boilerplate has the id {id:?}; the list has {} sentences",
                    list.len()
                ),
                false => bail!(
                    "没有编号为 {id:?} 的套话；是不是 {}？",
                    "no boilerplate has the id {id:?}; did you mean {}?",
                    near.join(" or ")
                ),
            }
        }
        decisions.accepted.remove(id);
        decisions.refused.remove(id);
        match status {
            Status::Proposed => false,
            Status::Accepted => decisions.accepted.insert(id.clone()),
            Status::Refused => decisions.refused.insert(id.clone()),
        };
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(id: &str, publisher: Option<&str>, documents: u32) -> Boilerplate {
        let time: NaiveDateTime = "2024-01-02T10:00:00".parse().unwrap();
        Boilerplate {
            id: id.into(),
            publisher: publisher.map(str::to_owned),
            text: "本报告版权归本公司所有。".into(),
            documents,
            share: 0.5,
            first_seen: time,
            known_from: time,
            status: Status::Proposed,
        }
    }

    #[test]
    fn the_list_is_sorted_and_comes_back() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("list.jsonl");
        let mut list = [row("b", Some("乙"), 5), row("c", Some("乙"), 9), row("a", None, 7)];
        write(&path, &mut list).unwrap();
        let read = read_list(&path).unwrap();
        assert_eq!(read.iter().map(|row| row.id.as_str()).collect::<Vec<_>>(), ["a", "c", "b"]);
        assert_eq!(read, list);
    }

    #[test]
    fn a_decision_takes_the_place_of_another_and_an_unknown_id_has_neighbours() {
        let list = [row("0123456789", None, 5), row("abcdefabcd", None, 5)];
        let mut decisions = Decisions::default();
        decide(&list, &mut decisions, &["0123456789".into()], Status::Accepted).unwrap();
        decide(&list, &mut decisions, &["0123456789".into()], Status::Refused).unwrap();
        assert!(decisions.accepted.is_empty() && decisions.refused.contains("0123456789"));
        let error = decide(&list, &mut decisions, &["012345678".into()], Status::Refused).unwrap_err().to_string();
        assert!(error.ends_with("did you mean 0123456789?"), "{error}");
    }

    #[test]
    fn ids_depend_on_the_publisher_and_the_form() {
        let ids = [id_of(Some("甲"), 1), id_of(Some("甲"), 2), id_of(Some("乙"), 1), id_of(None, 1)];
        assert!(ids.iter().all(|id| id.len() == 10));
        assert_eq!(ids.iter().collect::<std::collections::BTreeSet<_>>().len(), 4);
    }
}
