//! Files beside a chosen one that have the same columns: vendors deliver a file a day.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;

/// Bytes of a first line that are compared at the most.
const MOST: u64 = 64 << 10;

/// Files of a folder that are looked at.
const LOOKED_AT: usize = 1000;

/// The pattern that reads a file together with those beside it that have the same columns, and the number of all of them; none where there
/// are no others. `path` is relative to `folder`.
pub(super) fn pattern(folder: &Path, path: &str) -> Option<(String, usize)> {
    let (above, file) = path.rsplit_once('/').map_or(("", path), |(above, file)| (above, file));
    let ending = file.rsplit_once('.').map(|(_, ending)| ending)?;
    let lower = ending.to_ascii_lowercase();
    if !["csv", "tsv", "jsonl"].contains(&lower.as_str()) {
        return None;
    }
    let columns = columns_of(&folder.join(path), &lower)?;
    let entries = std::fs::read_dir(folder.join(above)).ok()?;
    let mut count = 0;
    for entry in entries.flatten().take(LOOKED_AT) {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.rsplit_once('.').is_some_and(|(_, other)| other == ending) {
            // A file with other columns makes the pattern wrong.
            if columns_of(&entry.path(), &lower).as_ref() != Some(&columns) {
                return None;
            }
            count += 1;
        }
    }
    let slash = if above.is_empty() { "" } else { "/" };
    (count > 1).then(|| (format!("{above}{slash}*.{ending}"), count))
}

/// The columns of a file: its first line, or the names in its first object.
fn columns_of(path: &Path, ending: &str) -> Option<Vec<u8>> {
    let file = std::fs::File::open(path).ok()?;
    let mut line = Vec::new();
    BufReader::new(file.take(MOST)).read_until(b'\n', &mut line).ok()?;
    if ending == "jsonl" {
        let object: serde_json::Map<String, serde_json::Value> = serde_json::from_slice(&line).ok()?;
        let mut names: Vec<String> = object.into_iter().map(|(name, _)| name).collect();
        names.sort_unstable();
        return Some(names.join("\n").into_bytes());
    }
    let end = line.iter().rposition(|byte| !matches!(byte, b'\n' | b'\r')).map_or(0, |last| last + 1);
    line.truncate(end);
    (!line.is_empty()).then_some(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_with_the_same_columns_are_read_together_and_others_alone() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).unwrap();
        std::fs::create_dir(dir.path().join("news")).unwrap();
        write("news/a.csv", "标题,正文\n1,2\n");
        assert_eq!(pattern(dir.path(), "news/a.csv"), None, "it is alone");
        write("news/b.csv", "标题,正文\r\n3,4\r\n");
        write("news/c.txt", "other");
        assert_eq!(pattern(dir.path(), "news/a.csv"), Some(("news/*.csv".to_owned(), 2)));
        write("x.jsonl", "{\"a\":1,\"b\":2}\n");
        write("y.jsonl", "{\"b\":3,\"a\":\"z\"}\n");
        assert_eq!(pattern(dir.path(), "x.jsonl"), Some(("*.jsonl".to_owned(), 2)));
        write("news/prices.csv", "date,code,close\n");
        assert_eq!(pattern(dir.path(), "news/a.csv"), None, "the folder holds another table");
        assert_eq!(pattern(dir.path(), "news/c.txt"), None);
    }
}
