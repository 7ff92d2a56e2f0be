//! The feature store from outside: sets that are carried from project to project, a store that is damaged, a store that is held.

use std::fs;
use std::path::PathBuf;

use inkstone_store::Store;
use inkstone_tables::corpus::times_of;
use inkstone_tables::frames;
use inkstone_tables::project::Project;

use crate::{assert_same_files, assert_says, computed, demo, results, run};

#[test]
fn exported_sets_take_the_place_of_computing_them() {
    let copy = demo::small().copy();
    let folder = copy.path();
    let exported = run(folder, &["store", "export", "--all", "--out", "sets"]).finished();
    let sets = exported["exported"].as_array().unwrap();
    assert!(sets.iter().all(|set| set["rows"].as_u64() > Some(0)), "{exported:#}");
    let files: Vec<&str> = sets.iter().filter_map(|set| set["file"].as_str()).collect();
    assert_eq!(fs::read_dir(folder.join("sets")).unwrap().count(), files.len() + 1, "with the marker of the folder");

    fs::remove_dir_all(folder.join(".inkstone/features.sled")).unwrap();
    let imported = run(folder, &[&["store", "import"], files.as_slice()].concat()).finished();
    assert_eq!(imported["imported"], exported["exported"]);
    let again = run(folder, &["run", "--headless"]).finished();
    assert!(computed(&again).is_empty(), "what was imported was computed again: {:?}", computed(&again));

    let name = sets[0]["name"].as_str().unwrap();
    run(folder, &["store", "export", "--set", name, "--out", "one.parquet"]).finished();
    assert!(fs::read(folder.join("one.parquet")).unwrap() == fs::read(folder.join(files[0])).unwrap());
    let mut torn = fs::read(folder.join("one.parquet")).unwrap();
    torn.truncate(torn.len() / 2);
    fs::write(folder.join("one.parquet"), torn).unwrap();
    assert_says(&run(folder, &["store", "import", "one.parquet"]).refusal(), &["one.parquet", "cut short"]);
    let unknown = run(folder, &["store", "export", "--set", "none", "--out", "x"]).refusal();
    assert_says(&unknown, &["no finished set \"none\"", name]);
}

#[test]
fn a_damaged_store_is_refused_and_repaired_without_computing_what_is_sound() {
    let copy = demo::small().copy();
    let folder = copy.path();
    let store = folder.join(".inkstone/features.sled");
    let results_before = results(folder);
    let current = fs::read_to_string(store.join("current")).unwrap();
    let database = store.join(current.lines().last().unwrap());
    let snapshot = |path: &PathBuf| path.to_string_lossy().contains("/snap.");
    let snapshot = database.read_dir().unwrap().map(|entry| entry.unwrap().path()).find(snapshot).unwrap();
    fs::write(snapshot, [0xff; 100]).unwrap();
    assert_says(&run(folder, &["run", "--headless"]).refusal(), &["features.sled is damaged", "inkstone store repair"]);
    let repaired = run(folder, &["store", "repair"]).finished();
    assert_says(&repaired["dropped"].to_string(), &["is damaged"]);
    let verified = run(folder, &["store", "verify"]).finished();
    assert_eq!(verified["problems"].as_array().map(Vec::len), Some(0));
    let again = run(folder, &["run", "--headless"]).finished();
    assert!(computed(&again).is_empty(), "rows and headers outlive the database: {:?}", computed(&again));
    assert_same_files(&results_before, &results(folder));
}

#[test]
fn who_holds_the_store_is_told_to_whoever_waits_for_it() {
    let copy = demo::small().copy();
    let held = Store::open(&Project::new(copy.path().join(".inkstone")).store()).unwrap();
    let refused = run(copy.path(), &["store", "verify"]).refusal();
    assert_says(&refused, &["in use by another run", &format!("process {} on ", std::process::id()), "since "]);
    drop(held);
    run(copy.path(), &["store", "verify"]).finished();
}

#[test]
fn the_documents_of_a_feature_say_from_when_on_their_values_were_known() {
    let folder = demo::small().copy();
    let project = Project::new(folder.path().join(".inkstone"));
    for feature in ["tone", "learned"] {
        let out = format!("{feature}.parquet");
        let arguments = ["store", "export", "--documents", feature, "--out", &out];
        let written = run(folder.path(), &arguments).finished();
        let table = frames::read_foreign_parquet(&folder.path().join(&out), None).unwrap();
        assert_eq!(written["documents"], table.height());
        let known = times_of(&table, "known_at").unwrap();
        let published = times_of(&table, "published_at").unwrap();
        let values = table.columns()[3].f32().unwrap();
        assert!(known.iter().zip(values.iter()).all(|(known, value)| known.is_some() == value.is_some()));
        assert!(known.iter().zip(&published).all(|(known, published)| known.is_none() || known >= published));
        // The factor of the feature says the same of each document: its value is known from the same time on.
        let signals = frames::read_parquet(&project.signals(feature), None).unwrap();
        let documents = signals.column("document").unwrap().u32().unwrap();
        let taken = times_of(&signals, "known_at").unwrap();
        assert!(taken.len() > 100, "{feature} has {} signals", taken.len());
        for (document, time) in documents.iter().zip(taken) {
            assert_eq!(known[document.unwrap() as usize], time, "document {document:?} of {feature}");
        }
    }
    let arguments = ["store", "export", "--documents", "none", "--out", "none.parquet"];
    let error = run(folder.path(), &arguments).refusal();
    assert!(error.contains("there is no feature \"none\"; the features are tone"), "{error}");
    assert!(!folder.path().join("none.parquet").exists());
}
