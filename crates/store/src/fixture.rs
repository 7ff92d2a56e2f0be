//! Stores and journals as versions wrote them: `tests/fixtures/store-N` is of format N, and that of this version is there for later ones
//! to read.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::tests::{ctx, read_all};
use super::*;

/// Set this to write the fixture anew.
const WRITE: &str = "INKSTONE_WRITE_FIXTURE";
const PATIENCE: Duration = Duration::from_secs(5);

/// A dense and a sparse set of two batches each, with all that a row may hold.
fn sets() -> [(SetSpec, [Rows; 2]); 2] {
    let keys = |from: u64| (from..from + 3).map(|i| Key::of(&i.to_le_bytes())).collect::<Vec<_>>();
    let spec = |name: &str, kind| {
        let fitted_until = chrono::NaiveDate::from_ymd_opt(2026, 3, 2).and_then(|day| day.and_hms_opt(15, 0, 0));
        SetSpec { name: name.into(), kind, params: serde_json::json!({"词典": "v1", "n": [1, 2.5]}), fitted_until }
    };
    let dense = |from| Rows::dense(keys(from), 2, vec![1.5, f32::NAN, -0.0, f32::INFINITY, from as f32, 1e-42]);
    let sparse = |from| Rows::sparse(keys(from), vec![0, 2, 2, 3], vec![0, u32::MAX, 7], vec![0.25, from as f32, -1.0]);
    [
        (spec("tone", RowKind::Dense { dim: 2 }), [dense(0), dense(3)]),
        (spec("词频", RowKind::Sparse), [sparse(0), sparse(3)]),
    ]
}

fn batch(number: u64) -> Key {
    Key::of(&[number as u8])
}

fn write(folder: &Path) {
    let _ = std::fs::remove_dir_all(folder.join("store"));
    let _ = std::fs::remove_dir_all(folder.join("journal"));
    let store = Store::open(&folder.join("store")).unwrap();
    for (spec, rows) in sets() {
        let writer = store.writer(&spec).unwrap();
        (0..).zip(&rows).for_each(|(number, rows)| writer.put(batch(number), rows).unwrap());
        writer.finish(&[batch(0), batch(1), batch(0)], serde_json::json!({"columns": ["a", "b"]})).unwrap();
    }
    let mut journal = Journal::open(&folder.join("journal"), PATIENCE).unwrap();
    journal.append("第一行".as_bytes(), Some(b"returns of one"), &[]).unwrap();
    journal.append(b"two", Some(b"returns of two"), &[]).unwrap();
    journal.append(b"deleted two", None, &[2]).unwrap();
    // Who held them is nobody's business.
    ["store/lock", "journal/lock"].iter().for_each(|lock| std::fs::remove_file(folder.join(lock)).unwrap());
}

#[test]
fn what_each_version_wrote_is_read() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures");
    if std::env::var_os(WRITE).is_some() {
        write(&fixtures.join(format!("store-{FORMAT}")));
    }
    for format in 1..=FORMAT {
        let kept = fixtures.join(format!("store-{format}"));
        // Opening writes, so it is done to a copy.
        let dir = tempfile::tempdir().unwrap();
        for entry in walkdir::WalkDir::new(&kept).into_iter().map(Result::unwrap).filter(|e| e.file_type().is_file()) {
            let to: PathBuf = dir.path().join(entry.path().strip_prefix(&kept).unwrap());
            std::fs::create_dir_all(to.parent().unwrap()).unwrap();
            std::fs::copy(entry.path(), to).unwrap();
        }
        let store = Store::open(&dir.path().join("store")).unwrap();
        for (spec, [first, second]) in sets() {
            let set = store.set(&spec.id()).unwrap().expect("the id of a specification is what it was");
            assert_eq!(set.header().meta["columns"][1], "b");
            assert!(read_all(&store, &spec.id()) == [first.clone(), second, first]);
        }
        assert_eq!(store.verify(&ctx()).unwrap(), []);
        let journal = Journal::open(&dir.path().join("journal"), PATIENCE).unwrap();
        assert_eq!(journal.last().unwrap(), (3, Some(Key::of(b"deleted two"))));
        assert_eq!(journal.record(1).unwrap(), Slot::Whole("第一行".into()));
        assert_eq!(
            [1, 2].map(|number| journal.attachment(number).unwrap()),
            [Slot::Whole(b"returns of one".to_vec()), Slot::Absent]
        );
    }
}
