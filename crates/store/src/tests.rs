//! The store as its callers use it: round trips, interrupted runs, damage, compaction.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use proptest::prelude::*;

use super::files::RowFile;
use super::layout::{batch_key, unseal};
use super::*;
use inkstone_base::job::Ctx;

pub(super) fn ctx() -> Ctx {
    Ctx::new(1, 0).unwrap()
}

pub(super) fn key(name: &str, i: usize) -> Key {
    Key::of_parts([name.as_bytes(), &i.to_le_bytes()])
}

pub(super) fn spec(name: &str, kind: RowKind) -> SetSpec {
    SetSpec { name: name.into(), kind, params: serde_json::json!({"词典": "v1", "dim": 4}), fitted_until: None }
}

/// Rows that differ by batch, the same on every call.
pub(super) fn dense_rows(batch: usize, rows: usize, dim: usize) -> Rows {
    let value = |i: usize| ((i * 2_654_435_761 + batch * 97) % 100_003) as f32 / 7.0;
    Rows::dense((0..rows).map(|i| key("text", batch * rows + i)).collect(), dim, (0..rows * dim).map(value).collect())
}

/// The files of a set's rows.
fn files_of(store: &Store, set: Key) -> Vec<RowFile> {
    store.files.list().unwrap().into_iter().filter(|found| found.set == set).collect()
}

pub(super) fn read_all(store: &Store, id: &Key) -> Vec<Rows> {
    store.set(id).unwrap().unwrap().batches().collect::<Result<_>>().unwrap()
}

/// A finished set of three batches of 100 rows of 300 values: four blocks each.
pub(super) fn finished(store: &Store) -> (SetSpec, Vec<Key>) {
    let spec = spec("sum", RowKind::Dense { dim: 300 });
    let writer = store.writer(&spec).unwrap();
    let order: Vec<Key> = (0..3).map(|b| key("batch", b)).collect();
    for (b, &batch) in order.iter().enumerate() {
        writer.put(batch, &dense_rows(b, 100, 300)).unwrap();
    }
    writer.finish(&order, serde_json::Value::Null).unwrap();
    (spec, order)
}

#[test]
fn rows_come_back_to_the_bit_and_in_the_order_of_the_corpus() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let keys = |n| (0..n).map(|i| key("text", i)).collect::<Vec<_>>();
    let dense = Rows::dense(keys(2), 2, vec![f32::NAN, -0.0, f32::NEG_INFINITY, 1e-42]);
    let none = Rows::empty(RowKind::Dense { dim: 2 });
    let writer = store.writer(&spec("dense", RowKind::Dense { dim: 2 })).unwrap();
    writer.put(key("batch", 1), &none).unwrap();
    writer.put(key("batch", 0), &dense).unwrap();
    let order = [key("batch", 0), key("batch", 1), key("batch", 0)];
    let header = writer.finish(&order, serde_json::json!({"说明": "两批"})).unwrap();
    assert_eq!((header.rows, header.batches.len()), (4, 3));
    assert!(read_all(&store, &header.id()) == [dense.clone(), none, dense]);

    let sparse = Rows::sparse(keys(3), vec![0, 2, 2, 3], vec![0, 4_000_000_000, 7], vec![0.5, f32::NAN, -1.0]);
    let writer = store.writer(&spec("sparse", RowKind::Sparse)).unwrap();
    writer.put(key("batch", 0), &sparse).unwrap();
    let id = writer.finish(&[key("batch", 0)], serde_json::Value::Null).unwrap().id();
    drop(store);

    let store = Store::open(dir.path()).unwrap();
    let set = store.set(&id).unwrap().unwrap();
    assert!(set.batch(&key("batch", 0)).unwrap().unwrap() == sparse);
    assert!(set.batch(&key("batch", 1)).unwrap().is_none());
    assert_eq!(store.set(&header.id()).unwrap().unwrap().header(), &header);
    assert_eq!(store.sets().unwrap().iter().map(|h| h.spec.name.as_str()).collect::<Vec<_>>(), ["dense", "sparse"]);
    assert_eq!(store.verify(&ctx()).unwrap(), []);
}

#[test]
fn an_unfinished_set_is_no_set_but_its_batches_are_found_again() {
    let dir = tempfile::tempdir().unwrap();
    let spec = spec("tone", RowKind::Dense { dim: 4 });
    {
        let store = Store::open(dir.path()).unwrap();
        let writer = store.writer(&spec).unwrap();
        writer.put(key("batch", 0), &dense_rows(0, 5, 4)).unwrap();
    }
    let store = Store::open(dir.path()).unwrap();
    assert!(store.set(&spec.id()).unwrap().is_none());
    let writer = store.writer(&spec).unwrap();
    assert!(writer.has(key("batch", 0)).unwrap() && !writer.has(key("batch", 1)).unwrap());
    let error = writer.finish(&[key("batch", 0), key("batch", 1)], serde_json::Value::Null).unwrap_err().to_string();
    assert!(error.contains("\"tone\" lacks batch"), "{error}");
    assert!(store.set(&spec.id()).unwrap().is_none());
    assert_eq!(store.stats().unwrap().sets, 0);
}

#[test]
fn rows_of_the_wrong_shape_are_refused_with_both_numbers() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let writer = store.writer(&spec("tone", RowKind::Dense { dim: 4 })).unwrap();
    let error = |rows| format!("{:#}", writer.put(key("batch", 0), &rows).unwrap_err());
    assert!(error(dense_rows(0, 2, 3)).contains("Dense { dim: 3 }, those of the set Dense { dim: 4 }"));
    assert!(error(Rows::dense(vec![Key::default()], 4, vec![0.0; 5])).contains("5 dense values do not make 1 rows"));
    let falling = Rows::sparse(vec![Key::default(); 2], vec![0, 2, 1], vec![1], vec![1.0]);
    assert!(error(falling).contains("without falling"));
    assert!(store.writer(&spec("none", RowKind::Dense { dim: 0 })).is_err());
}

#[test]
fn a_second_opener_is_told_who_holds_the_store() {
    let dir = tempfile::tempdir().unwrap();
    let held = Store::open(dir.path()).unwrap();
    let error = Store::open_within(dir.path(), Duration::from_millis(50)).err().unwrap().to_string();
    assert!(error.contains(&format!("in use by another run (process {} on ", std::process::id())), "{error}");
    assert!(error.contains("since "), "{error}");
    drop(held);
    Store::open(dir.path()).unwrap();
}

#[test]
fn readers_go_on_while_a_set_is_written_and_are_told_when_theirs_is_replaced() {
    let dir = tempfile::tempdir().unwrap();
    assert!(Reader::open(&dir.path().join("none")).unwrap().sets().unwrap().is_empty());
    assert!(!dir.path().join("none").exists(), "looking makes nothing");
    let store = Store::open(dir.path()).unwrap();
    let (spec, order) = finished(&store);
    let all_rows = read_all(&store, &spec.id());
    let writer = store.writer(&self::spec("other", RowKind::Dense { dim: 4 })).unwrap();
    writer.put(key("batch", 0), &dense_rows(0, 5, 4)).unwrap();

    let reader = Reader::open(dir.path()).unwrap();
    assert_eq!(reader.sets().unwrap(), [store.find("sum").unwrap()]);
    assert_eq!(reader.stats().unwrap(), store.stats().unwrap());
    let set = reader.set(&spec.id()).unwrap().unwrap();
    assert!(set.batches().map(Result::unwrap).eq(all_rows));
    writer.finish(&[key("batch", 0)], serde_json::Value::Null).unwrap();
    assert_eq!(reader.sets().unwrap().len(), 2);

    let again = store.writer(&spec).unwrap();
    again.put(order[0], &dense_rows(9, 100, 300)).unwrap();
    assert!(reader.set(&spec.id()).unwrap().is_none());
    let replaced = |set: &Set<'_>| set.batch(&order[0]).unwrap_err().to_string();
    assert!(replaced(&set).contains("another run has replaced feature set \"sum\""), "{}", replaced(&set));
    again.finish(&order, serde_json::Value::Null).unwrap();
    assert!(replaced(&set).contains("read it again") && set.batch(&order[1]).unwrap().is_some());
    store.remove(&spec.id()).unwrap();
    assert!(replaced(&set).contains("or removed it"));
}

#[test]
fn a_run_waits_for_whoever_holds_the_store() {
    let dir = tempfile::tempdir().unwrap();
    let looking = Store::open(dir.path()).unwrap();
    let began = std::time::Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(std::time::Duration::from_millis(150));
            drop(looking);
        });
        Store::open(dir.path()).map(drop).unwrap();
    });
    assert!(began.elapsed() >= std::time::Duration::from_millis(150), "it was open until then");
}

#[test]
fn a_store_that_lost_its_pointer_is_not_taken_for_a_new_one() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let (spec, _) = finished(&store);
    let all_rows = read_all(&store, &spec.id());
    drop(store);
    std::fs::remove_file(dir.path().join("current")).unwrap();
    let error = Store::open(dir.path()).err().unwrap().to_string();
    assert!(error.contains("does not say which database is in use"), "{error}");
    assert!(dir.path().join("db-000001").exists());
    assert_eq!(Store::repair(dir.path(), &ctx()).unwrap(), []);
    let store = Store::open(dir.path()).unwrap();
    assert!(read_all(&store, &spec.id()) == all_rows);
}

#[test]
fn a_flipped_byte_is_named_never_served_and_repaired_by_computing_one_batch_again() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let (spec, order) = finished(&store);
    let all_rows = read_all(&store, &spec.id());
    let torn = files_of(&store, spec.id()).into_iter().find(|found| found.batch == order[1]).unwrap().path;
    let mut bytes = std::fs::read(&torn).unwrap();
    // Blocks are of some 32,000 bytes.
    bytes[40_000] ^= 0x10;
    std::fs::write(&torn, bytes).unwrap();

    let set = store.set(&spec.id()).unwrap().unwrap();
    let read: Vec<_> = set.batches().collect();
    assert!(read[0].is_ok() && read[2].is_ok());
    let error = format!("{:#}", read[1].as_ref().err().unwrap());
    for part in [&order[1].hex(), "\"sum\"", "block 1", "checksum", "store repair"] {
        assert!(error.contains(part), "{error}");
    }
    let problems = store.verify(&ctx()).unwrap();
    assert!(
        problems.iter().any(|p| p.batch == Some(order[1]) && p.what.contains("block 1") && p.what.contains("checksum"))
    );
    assert!(problems.iter().any(|p| p.harmful) && problems.iter().all(|p| p.batch == Some(order[1])));

    drop(store);
    Store::repair(dir.path(), &ctx()).unwrap();
    let store = Store::open(dir.path()).unwrap();
    assert_eq!(store.verify(&ctx()).unwrap(), []);
    let writer = store.writer(&spec).unwrap();
    assert_eq!(order.iter().map(|&b| writer.has(b).unwrap()).collect::<Vec<_>>(), [true, false, true]);
    writer.put(order[1], &dense_rows(1, 100, 300)).unwrap();
    writer.finish(&order, serde_json::Value::Null).unwrap();
    assert!(read_all(&store, &spec.id()) == all_rows);
}

#[test]
fn missing_batches_strange_rows_and_orphans_are_found() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let (spec, order) = finished(&store);
    let set = spec.id();
    // Other rows than those that the header was written for: the set is finished no more, unless the header comes back.
    let kept = store.set(&set).unwrap().unwrap().header().clone();
    store.writer(&spec).unwrap().put(order[1], &dense_rows(1, 100, 300)).unwrap();
    assert!(store.set(&set).unwrap().is_some(), "the same rows again change nothing");
    store.writer(&spec).unwrap().put(order[0], &dense_rows(9, 100, 300)).unwrap();
    assert!(store.set(&set).unwrap().is_none());
    assert_eq!(files_of(&store, set).len(), 3, "the rows that were replaced are gone");
    store.headers.write(&kept).unwrap();
    // A record that is lost, which the set does not need.
    store.database.apply(Vec::new(), vec![batch_key(set, order[2])]).unwrap();
    let problems = store.verify(&ctx()).unwrap();
    let has = |batch, what: &str| problems.iter().any(|p| p.batch == Some(batch) && p.what.contains(what));
    assert!(has(order[0], "missing or damaged"));
    assert!(problems.iter().all(|p| p.batch == Some(order[0])), "{problems:?}");
    let read = store.set(&set).unwrap().unwrap().batch(&order[0]);
    assert!(format!("{:#}", read.unwrap_err()).contains("cannot be read"));
    // A damaged header: the set cannot be opened, its batches need no computing.
    std::fs::write(dir.path().join(format!("rows/{set}/header")), b"IKS1").unwrap();
    assert!(format!("{:#}", store.sets().unwrap_err()).contains("cut short"));
    drop(store);
    Store::repair(dir.path(), &ctx()).unwrap();
    let store = Store::open(dir.path()).unwrap();
    assert!(store.set(&set).unwrap().is_none() && store.sets().unwrap().is_empty());
    let writer = store.writer(&spec).unwrap();
    assert!(order.iter().all(|&batch| writer.has(batch).unwrap()), "what a file holds is known by the file alone");
}

#[test]
fn compaction_gives_back_what_was_overwritten_and_keeps_what_is_wanted() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::open(dir.path()).unwrap();
    let kept = spec("kept", RowKind::Dense { dim: 256 });
    let other = SetSpec { params: serde_json::json!({"dim": 5}), ..spec("other", RowKind::Dense { dim: 256 }) };
    let order = [key("batch", 0), key("batch", 1)];
    for round in 0..20 {
        for spec in [&kept, &other] {
            let writer = store.writer(spec).unwrap();
            writer.put(order[0], &dense_rows(round, 2000, 256)).unwrap();
            writer.put(order[1], &dense_rows(round + 1, 2000, 256)).unwrap();
            writer.finish(&order, serde_json::Value::Null).unwrap();
        }
    }
    store.writer(&spec("unfinished", RowKind::Sparse)).unwrap().put(order[0], &Rows::empty(RowKind::Sparse)).unwrap();
    let before = read_all(&store, &kept.id());
    let cancelled = ctx();
    cancelled.cancel();
    store.compact(|_| true, &cancelled).unwrap_err();
    assert!(read_all(&store, &kept.id()) == before);

    let report = store.compact(|h| h.spec.name == "kept", &ctx()).unwrap();
    assert_eq!(report.dropped, [("other".to_owned(), other.id())]);
    assert!(read_all(&store, &kept.id()) == before && store.set(&other.id()).unwrap().is_none());
    let stats = store.stats().unwrap();
    assert_eq!((stats.sets, stats.rows, stats.other_bytes), (1, 4000, 0));
    assert_eq!(report.after, stats.file_bytes);
    assert!((report.after as f64) < 1.5 * stats.live_bytes as f64, "{report:?} {stats:?}");
    assert!(report.after < report.before);
    drop(store);
    let store = Store::open(dir.path()).unwrap();
    assert!(read_all(&store, &kept.id()) == before);
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 4, "lock, current, one database, rows");
}

#[test]
fn a_removed_set_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let (spec, order) = finished(&store);
    assert!(store.remove(&spec.id()).unwrap());
    assert!(!store.remove(&spec.id()).unwrap());
    assert!(!store.writer(&spec).unwrap().has(order[0]).unwrap());
    assert_eq!(store.verify(&ctx()).unwrap(), []);
    let stats = store.stats().unwrap();
    assert_eq!((stats.sets, stats.live_bytes, stats.other_bytes), (0, 0, 0));
}

const BATCHES: usize = 48;

/// A run: computes the missing batches and finishes. Announces each batch; returns how many it
/// computed.
fn run_to_the_end(path: &Path, mut announce: impl FnMut(usize)) -> usize {
    let store = Store::open(path).unwrap();
    let spec = spec("killed", RowKind::Dense { dim: 256 });
    let writer = store.writer(&spec).unwrap();
    let order: Vec<Key> = (0..BATCHES).map(|b| key("batch", b)).collect();
    let mut computed = 0;
    for (b, &batch) in order.iter().enumerate() {
        if !writer.has(batch).unwrap() {
            writer.put(batch, &dense_rows(b, 1000, 256)).unwrap();
            computed += 1;
        }
        announce(b);
    }
    writer.finish(&order, serde_json::Value::Null).unwrap();
    computed
}

/// The contents of all entries, in the order of the keys, and of all files of rows and headers.
fn contents(path: &Path) -> Vec<(Vec<u8>, Vec<u8>)> {
    let store = Store::open(path).unwrap();
    let entries = store.database.scan(b"").map(|entry| {
        let (key, value) = entry.unwrap();
        (key.to_vec(), unseal(&key, &value).unwrap().to_vec())
    });
    let files = walkdir::WalkDir::new(path.join("rows")).sort_by_file_name().into_iter().map(Result::unwrap);
    let files = files.filter(|found| found.file_type().is_file()).map(|found| {
        let name = found.path().strip_prefix(path).unwrap().to_str().unwrap().as_bytes().to_vec();
        (name, std::fs::read(found.path()).unwrap())
    });
    entries.chain(files).collect()
}

#[test]
fn a_run_killed_at_any_moment_ends_with_the_bytes_of_an_undisturbed_one() {
    const CHILD: &str = "INKSTONE_TEST_STORE_TO_FILL";
    const STOP: &str = "INKSTONE_TEST_STORE_STOP_AFTER";
    if let Some(path) = std::env::var_os(CHILD).map(PathBuf::from) {
        let stop: usize = std::env::var(STOP).unwrap().parse().unwrap();
        run_to_the_end(&path, |b| {
            writeln!(std::io::stdout(), "batch {b}").unwrap();
            // Work goes on while the kill is on its way, but on a busy machine not to the end.
            if b >= stop + 3 {
                loop {
                    std::thread::park();
                }
            }
        });
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let (calm, killed) = (dir.path().join("calm"), dir.path().join("killed"));
    assert_eq!(run_to_the_end(&calm, |_| ()), BATCHES);
    let mut seen = Vec::new();
    for stop_after in [0, 7, 20, 33, 46] {
        let this = "tests::a_run_killed_at_any_moment_ends_with_the_bytes_of_an_undisturbed_one";
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([this, "--exact", "--nocapture"])
            .env(CHILD, &killed)
            .env(STOP, stop_after.to_string())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        let mut batches = lines.filter_map(|l| l.split("batch ").nth(1)?.trim().parse::<usize>().ok());
        assert!(batches.any(|b| b >= stop_after), "the child ended before batch {stop_after}");
        child.kill().unwrap();
        child.wait().unwrap();
        let store = Store::open(&killed).unwrap();
        let problems = store.verify(&ctx()).unwrap();
        assert!(problems.is_empty(), "after a kill at batch {stop_after}: {problems:?}");
        let stats = store.stats().unwrap();
        if stats.sets == 0 {
            seen.push(stats.other_bytes);
        }
    }
    // Work done before a kill is there after it: no batch is computed twice.
    assert!(seen.is_sorted() && seen.last() > Some(&(16 << 20)), "{seen:?}");
    assert!(run_to_the_end(&killed, |_| ()) <= BATCHES - 47);
    assert!(contents(&killed) == contents(&calm));
}

#[test]
fn threads_share_a_writer() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let writer = store.writer(&spec("shared", RowKind::Dense { dim: 8 })).unwrap();
    let order: Vec<Key> = (0..16).map(|b| key("batch", b)).collect();
    std::thread::scope(|scope| {
        for (half, writer) in [(0, &writer), (1, &writer)] {
            let order = &order;
            scope.spawn(move || {
                for b in (half..16).step_by(2) {
                    writer.put(order[b], &dense_rows(b, 50, 8)).unwrap();
                }
            });
        }
    });
    let id = writer.finish(&order, serde_json::Value::Null).unwrap().id();
    let expected: Vec<Rows> = (0..16).map(|b| dense_rows(b, 50, 8)).collect();
    assert!(read_all(&store, &id) == expected);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn any_sparse_rows_come_back(lengths in prop::collection::vec(0usize..400, 0..60), seed in any::<u32>()) {
        let mut indptr = vec![0];
        for length in &lengths {
            indptr.push(indptr[indptr.len() - 1] + length);
        }
        let total = indptr[lengths.len()] as u32;
        let mixed = |i: u32| i.wrapping_mul(2_654_435_761).wrapping_add(seed);
        let keys = (0..lengths.len()).map(|i| key("text", i)).collect();
        let values = (0..total).map(|i| f32::from_bits(mixed(i))).collect();
        let rows = Rows::sparse(keys, indptr, (0..total).map(mixed).collect(), values);
        let mut read = Rows::empty(RowKind::Sparse);
        for block in super::block::pack(&rows).unwrap() {
            read.append(super::block::unpack(&block).unwrap().1).unwrap();
        }
        prop_assert!(read == rows);
    }

    #[test]
    fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = super::block::unpack(&bytes);
    }
}
