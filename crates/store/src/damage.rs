//! Damage as disks and power cuts make it, at random places of every file of a store and of a journal.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::tests::{ctx, dense_rows, finished, key, read_all, spec};
use super::*;

const DAMAGES: u64 = 100;
const PATIENCE: Duration = Duration::from_secs(5);

/// The files below a folder, sorted.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = walkdir::WalkDir::new(folder).sort_by_file_name().into_iter().map(Result::unwrap);
    entries.filter(|e| e.file_type().is_file()).map(|e| e.into_path()).collect()
}

fn copy_of(folder: &Path, to: &Path) {
    for file in files_below(folder) {
        let to = to.join(file.strip_prefix(folder).unwrap());
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::fs::copy(file, to).unwrap();
    }
}

/// Damages one file of a folder, and says how. `spared` are files that stay as they are.
fn damage(folder: &Path, rng: &mut ChaCha8Rng, spared: impl Fn(&Path) -> bool) -> String {
    let files: Vec<PathBuf> = files_below(folder).into_iter().filter(|f| !f.ends_with("lock") && !spared(f)).collect();
    let file = &files[rng.random_range(0..files.len())];
    let mut bytes = std::fs::read(file).unwrap();
    let at = rng.random_range(0..bytes.len().max(1));
    let zero = |bytes: &mut [u8], page: usize| {
        let from = at / page * page;
        let to = (from + page).min(bytes.len());
        bytes[from..to].fill(0);
    };
    let what = match rng.random_range(0..6) {
        0 => {
            bytes[at..].fill(0);
            "torn"
        }
        1 => {
            zero(&mut bytes, 4096);
            "a page of zeros"
        }
        2 => {
            zero(&mut bytes, 512 << 10);
            "512 KB of zeros"
        }
        3 => {
            bytes.truncate(at);
            "cut short"
        }
        4 => {
            std::fs::remove_file(file).unwrap();
            return format!("{} removed", file.strip_prefix(folder).unwrap().display());
        }
        _ => {
            bytes[at] ^= 1 << rng.random_range(0..8);
            "a flipped bit"
        }
    };
    std::fs::write(file, bytes).unwrap();
    format!("{} {what} at {at}", file.strip_prefix(folder).unwrap().display())
}

/// A run: computes the missing batches and finishes. Returns how many it computed.
fn run(store: &Store, spec: &SetSpec, rows: &BTreeMap<Key, Rows>) -> usize {
    let writer = store.writer(spec).unwrap();
    let mut computed = 0;
    for (batch, rows) in rows {
        if !writer.has(*batch).unwrap() {
            writer.put(*batch, rows).unwrap();
            computed += 1;
        }
    }
    writer.finish(&rows.keys().copied().collect::<Vec<_>>(), serde_json::Value::Null).unwrap();
    computed
}

/// A store of two sets, one of few and long batches and one of many short ones, whose database was closed twice.
fn sets_of(path: &Path) -> Vec<(SetSpec, BTreeMap<Key, Rows>)> {
    let sets = [("long", 4, 200, 64), ("short", 120, 3, 4)].map(|(name, batches, rows, dim)| {
        let batches = (0..batches).map(|b| (key(name, b), dense_rows(b, rows, dim))).collect();
        (spec(name, RowKind::Dense { dim }), batches)
    });
    for (spec, rows) in &sets {
        run(&Store::open(path).unwrap(), spec, rows);
    }
    sets.into()
}

#[test]
fn damage_anywhere_serves_nothing_wrong_and_a_repair_loses_only_what_it_touched() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store");
    let sets = sets_of(&path);
    let (mut noticed, mut lost) = (0, 0);
    for seed in 0..DAMAGES {
        let copy = dir.path().join("copy");
        copy_of(&path, &copy);
        let what = damage(&copy, &mut ChaCha8Rng::seed_from_u64(seed), |_| false);
        let what = format!("seed {seed}: {what}");
        let mut sound = true;
        match Store::open(&copy) {
            Err(_) => sound = false,
            Ok(store) => {
                for (spec, rows) in &sets {
                    let read = store
                        .set(&spec.id())
                        .and_then(|set| set.map(|set| set.batches().collect::<Result<Vec<_>>>()).transpose());
                    match read {
                        Ok(Some(read)) => {
                            assert!(read.iter().eq(rows.values()), "{what} changed rows of {}", spec.name)
                        }
                        Ok(None) | Err(_) => sound = false,
                    }
                }
                sound &= store.verify(&ctx()).is_ok_and(|problems| problems.is_empty());
            }
        }
        noticed += usize::from(!sound);
        Store::repair(&copy, &ctx()).unwrap_or_else(|error| panic!("{what}: {error:#}"));
        let store = Store::open(&copy).unwrap_or_else(|error| panic!("{what}: after the repair: {error:#}"));
        assert_eq!(store.verify(&ctx()).unwrap(), [], "{what}");
        for (spec, rows) in &sets {
            let computed = run(&store, spec, rows);
            assert!(computed <= 1, "{what}: {computed} batches were computed again");
            lost += computed;
            assert!(read_all(&store, &spec.id()).iter().eq(rows.values()), "{what}");
        }
        drop(store);
        std::fs::remove_dir_all(copy).unwrap();
    }
    assert!(noticed > 10 && lost > 10, "the damage does not matter: {noticed} noticed, {lost} batches lost");
}

/// The database writes its settings in place, and a snapshot under another name than that by which it counts.
#[test]
fn a_kill_in_the_middle_of_an_opening_costs_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (spec, order) = finished(&Store::open(dir.path()).unwrap());
    drop(Store::open(dir.path()).unwrap());
    let database = dir.path().join("db-000001");
    let intact = std::fs::read(database.join("conf")).unwrap();
    let snapshots = || files_below(&database).into_iter().filter(|f| f.to_string_lossy().contains("snap."));
    let snapshot = snapshots().next().unwrap();
    let begun = database.join("snap.7FFFFFFFFFFFFFFF.generating");
    let half = std::fs::read(&snapshot).unwrap();
    for length in 0..intact.len() {
        std::fs::write(database.join("conf"), &intact[..length]).unwrap();
        std::fs::write(&begun, &half[..length.min(half.len())]).unwrap();
        let store = Store::open(dir.path()).unwrap_or_else(|error| panic!("{length} bytes: {error:#}"));
        assert_eq!(store.set(&spec.id()).unwrap().unwrap().batches().count(), order.len());
        assert_eq!(std::fs::read(database.join("conf")).unwrap(), intact);
        assert_eq!((begun.exists(), snapshots().count()), (false, 1));
    }
}

/// Reading `/proc/self/mem` from its beginning fails with EIO, as a bad sector does.
#[test]
#[cfg(target_os = "linux")]
fn a_disk_that_cannot_be_read_is_no_damage_and_nothing_is_changed() {
    let dir = tempfile::tempdir().unwrap();
    let (root, ledger) = (dir.path().join("store"), dir.path().join("journal"));
    let (spec, _) = finished(&Store::open(&root).unwrap());
    Journal::open(&ledger, PATIENCE).unwrap().append(b"one", None, &[]).unwrap();
    for database in [root.join("db-000001"), ledger.join("db")] {
        std::os::unix::fs::symlink("/proc/self/mem", database.join("unreadable")).unwrap();
    }
    let bytes_below = |folder: &Path| -> Vec<(PathBuf, Vec<u8>)> {
        files_below(folder).into_iter().map(|file| (file.clone(), std::fs::read(file).unwrap())).collect()
    };
    let before = bytes_below(dir.path());
    let refused = [Store::open(&root).err(), Journal::open(&ledger, PATIENCE).err()];
    for refused in refused {
        let refused = format!("{:#}", refused.unwrap());
        for part in ["the disk could not be read", "nothing was changed", "Input/output error"] {
            assert!(refused.contains(part), "{refused}");
        }
    }
    let is_lock = |(file, _): &&(PathBuf, Vec<u8>)| file.ends_with("lock");
    assert!(bytes_below(dir.path()).iter().filter(|f| !is_lock(f)).eq(before.iter().filter(|f| !is_lock(f))));
    let problems = Store::repair(&root, &ctx()).unwrap();
    assert!(problems[0].what.contains("the disk could not be read"), "{problems:?}");
    let store = Store::open(&root).unwrap();
    assert_eq!((read_all(&store, &spec.id()).len(), store.verify(&ctx()).unwrap()), (3, Vec::new()));
}

#[test]
fn damage_to_one_copy_of_a_journal_loses_nothing_and_to_both_only_what_it_touched() {
    const RECORDS: u64 = 30;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("journal");
    let record = |number: u64| format!("试验 {number}").into_bytes();
    let attachment = |number: u64| vec![number as u8; 40 * number as usize];
    for number in 1..=RECORDS {
        let mut journal = Journal::open(&path, PATIENCE).unwrap();
        journal.append(&record(number), Some(&attachment(number)), &[]).unwrap();
    }
    for seed in 0..DAMAGES {
        let copy = dir.path().join("copy-of-it");
        copy_of(&path, &copy);
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut what = format!("seed {seed}: {}", damage(&copy, &mut rng, |_| false));
        let both = seed % 4 == 0;
        if both {
            what += &format!(" and {}", damage(&copy, &mut rng, |_| false));
        }
        let mut journal = match Journal::open(&copy, PATIENCE) {
            Ok(journal) => journal,
            Err(error) => {
                assert!(both, "{what}: {error:#}");
                std::fs::remove_dir_all(&copy).unwrap();
                continue;
            }
        };
        for number in 1..=RECORDS {
            for (slot, right) in [
                (journal.record(number).unwrap(), record(number)),
                (journal.attachment(number).unwrap(), attachment(number)),
            ] {
                match slot {
                    Slot::Whole(read) => assert!(read == right, "{what}: changed record {number}"),
                    lost => assert!(both, "{what}: record {number} is {lost:?}"),
                }
            }
        }
        if !both {
            assert_eq!(journal.last().unwrap(), (RECORDS, Some(Key::of(&record(RECORDS)))), "{what}");
        }
        let next = journal.append(b"next", None, &[]).unwrap();
        assert_eq!(journal.record(next).unwrap(), Slot::Whole(b"next".to_vec()), "{what}");
        drop(journal);
        std::fs::remove_dir_all(copy).unwrap();
    }
}

/// Ids, digests and files of sets as this format has them. Other versions must find the same, or `FORMAT` changes.
#[test]
fn ids_digests_and_bytes_are_those_of_the_format() {
    let keys = |from: u64| (from..from + 3).map(|i| Key::of(&i.to_le_bytes())).collect::<Vec<_>>();
    let spec = |name: &str, kind| {
        let fitted_until = chrono::NaiveDate::from_ymd_opt(2026, 3, 2).and_then(|day| day.and_hms_opt(15, 0, 0));
        SetSpec { name: name.into(), kind, params: serde_json::json!({"词典": "v1", "n": [1, 2.5]}), fitted_until }
    };
    let dense = |from| Rows::dense(keys(from), 2, vec![1.5, f32::NAN, -0.0, f32::INFINITY, from as f32, 1e-42]);
    let sparse = |from| Rows::sparse(keys(from), vec![0, 2, 2, 3], vec![0, u32::MAX, 7], vec![0.25, from as f32, -1.0]);
    let batch = |number: u8| Key::of(&[number]);
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    for (spec, rows) in [
        (spec("tone", RowKind::Dense { dim: 2 }), [dense(0), dense(3)]),
        (spec("词频", RowKind::Sparse), [sparse(0), sparse(3)]),
    ] {
        let writer = store.writer(&spec).unwrap();
        (0..).zip(&rows).for_each(|(number, rows)| writer.put(batch(number), rows).unwrap());
        writer.finish(&[batch(0), batch(1), batch(0)], serde_json::json!({"columns": ["a", "b"]})).unwrap();
    }
    let rows = dir.path().join("rows");
    let files = files_below(&rows).into_iter().map(|file| {
        let sum = crc32fast::hash(&std::fs::read(&file).unwrap());
        format!("{} {sum:08x}", file.strip_prefix(&rows).unwrap().display())
    });
    let expected = [
        "3bf6dda701432c014f42a595671d45ff/2d3adedff11b61f14c886e35afa03673-61125ce6e92de52b912c1473794eab38.rows c45f13f6",
        "3bf6dda701432c014f42a595671d45ff/48fc721fbbc172e0925fa27af1671de2-b45d84d3c0157f39d83c667a17261ac2.rows 7600cd1f",
        "3bf6dda701432c014f42a595671d45ff/header ae5138f6",
        "610c71b92212c34c8a7c487f4121fb49/2d3adedff11b61f14c886e35afa03673-dd1e95cb8a27fb669dfc59cba2f23c06.rows 9d88f93b",
        "610c71b92212c34c8a7c487f4121fb49/48fc721fbbc172e0925fa27af1671de2-a0529e83913c3d2cb93a1022944d951a.rows 4d5657c5",
        "610c71b92212c34c8a7c487f4121fb49/header e835835a",
    ];
    assert_eq!(files.collect::<Vec<_>>(), expected);
}

#[test]
fn a_store_of_another_format_is_refused_and_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let sets = sets_of(dir.path());
    let current = dir.path().join("current");
    for format in [0, 2, 4] {
        std::fs::write(&current, format!("format {format}\ndb-000001\n")).unwrap();
        let before = files_below(dir.path());
        let reader = Reader::new(dir.path());
        let refused = [
            Store::open(dir.path()).err(),
            Reader::open(dir.path()).err(),
            reader.verify(&ctx()).err(),
            Store::repair(dir.path(), &ctx()).err(),
        ];
        for refused in refused {
            let refused = refused.unwrap().to_string();
            for part in [&*format!("is of format {format}, and this version reads format 3"), "remove that folder"] {
                assert!(refused.contains(part), "{refused}");
            }
        }
        assert_eq!(files_below(dir.path()), before);
    }
    std::fs::write(&current, "format 3\ndb-000001\n").unwrap();
    let store = Store::open(dir.path()).unwrap();
    assert!(sets.iter().all(|(spec, rows)| read_all(&store, &spec.id()).iter().eq(rows.values())));
}

#[test]
fn a_journal_that_lost_its_copy_gets_it_back_and_one_of_a_newer_format_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let mut journal = Journal::open(dir.path(), PATIENCE).unwrap();
    journal.append(b"one", Some(b"rows of one"), &[]).unwrap();
    journal.append(b"two", None, &[]).unwrap();
    drop(journal);
    let copy = dir.path().join("copy");
    let intact = std::fs::read(&copy).unwrap();
    std::fs::remove_file(&copy).unwrap();
    drop(Journal::open(dir.path(), PATIENCE).unwrap());
    assert!(std::fs::read(&copy).unwrap().len() == intact.len());
    // The database alone could not be opened: everything comes from the copy.
    let spoil_snapshot = || {
        let files = files_below(&dir.path().join("db")).into_iter();
        let snapshots = files.filter(|f| f.to_string_lossy().contains("snap."));
        assert_eq!(snapshots.map(|f| std::fs::write(f, [0xff; 100]).unwrap()).count(), 1);
    };
    spoil_snapshot();
    let journal = Journal::open(dir.path(), PATIENCE).unwrap();
    assert_eq!(journal.last().unwrap(), (2, Some(Key::of(b"two"))));
    assert_eq!(journal.attachment(1).unwrap(), Slot::Whole(b"rows of one".to_vec()));
    drop(journal);
    // Files that were put aside stay, also when it happens again.
    let aside = |number: u32| files_below(&dir.path().join(format!("db.damaged-{number}")));
    let kept: Vec<(PathBuf, Vec<u8>)> = aside(1).into_iter().map(|f| (f.clone(), std::fs::read(f).unwrap())).collect();
    assert!(!kept.is_empty() && !dir.path().join("db.damaged-2").exists());
    drop(Journal::open(dir.path(), PATIENCE).unwrap());
    spoil_snapshot();
    drop(Journal::open(dir.path(), PATIENCE).unwrap());
    assert!(kept.iter().all(|(file, bytes)| std::fs::read(file).unwrap() == *bytes));
    assert!(!aside(2).is_empty());

    let mut newer = intact;
    newer[6] = 2;
    std::fs::write(&copy, newer).unwrap();
    let refused = Journal::open(dir.path(), PATIENCE).err().unwrap().to_string();
    assert!(refused.contains("is of format 2, and this version reads up to 1"), "{refused}");
}
