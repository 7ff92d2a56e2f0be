//! Word vectors and small networks as features of the demo market: they run, are exported, and do not look ahead.

use std::fs;

use inkstone_store::Store;
use inkstone_tables::project::Project;

use crate::demo::third;
use crate::{assert_same_files, assert_says, edit, results, run};

const FEATURES: &str = r#"
[[feature]]
name = "places"
model = "word2vec"
vintages = { refit_days = 182, min_train_documents = 300 }
word2vec = { dim = 8, epochs = 2 }

[[feature]]
name = "given"
model = "file"
file = { path = "own.vec" }

[[feature]]
name = "cnn"
model = "textcnn"
embeddings = { file = "own.vec", fitted_until = "2019-12-31" }
walk_forward = { train_days = 120, test_days = 120, min_train_rows = 50 }
textnet = { channels = "static", maps = 4, fit = { epochs = 2 } }

[[feature]]
name = "rnn"
model = "textrnn"
embeddings = { feature = "places" }
walk_forward = { train_days = 120, test_days = 120, min_train_rows = 50 }
textnet = { channels = "both", cell = "gru", hidden = 4, pool = "mean", max_tokens = 40, fit = { epochs = 2 } }
"#;

#[test]
fn vectors_and_networks_run_and_are_exported() {
    let copy = third().copy();
    let folder = copy.path();
    let config = folder.join("workbench.toml");
    let mut text = fs::read_to_string(&config).unwrap() + FEATURES;
    for (name, feature) in [("first", "places.c1"), ("fixed", "given.c2"), ("cnn", "cnn"), ("rnn", "rnn.score")] {
        text += &format!("\n[[factor]]\nname = \"{name}\"\nexpression = \"{feature}\"\nmin_names = 2\n");
    }
    fs::write(&config, text).unwrap();
    fs::write(folder.join("own.vec"), "3 2\n公司 1 0.5\n增长 0 1\n下滑 0.25 -1\n").unwrap();

    // Vectors of a file that does not say what it has seen.
    let error = run(folder, &["run", "--headless"]).left_out();
    assert_says(&error, &["\"given\"", "own.vec does not say how far", "set file.fitted_until"]);
    edit(&config, "path = \"own.vec\"", "path = \"own.vec\", fitted_until = \"2019-12-31\"");

    let json = run(folder, &["run", "--headless", "--threads", "1"]).finished();
    let known: Vec<&str> =
        json["factors"].as_array().unwrap().iter().map(|factor| factor["name"].as_str().unwrap()).collect();
    for name in ["first", "fixed", "cnn", "rnn"] {
        assert!(known.contains(&name), "{known:?}");
        assert!(folder.join(format!("exports/backtest/{name}/summary.csv")).exists(), "{name}");
    }
    let once = results(folder);
    {
        let store = Store::open(&Project::new(folder.join(".inkstone")).store()).unwrap();
        let header = store.sets().unwrap().into_iter().find(|header| header.spec.name == "places").unwrap();
        let windows = header.meta["windows"].as_array().unwrap();
        assert!(windows.len() >= 4 && windows.iter().filter(|window| window["scored"] != 0).count() >= 2);
        let before = |window: &&serde_json::Value| match window["fitted_until"].as_str() {
            Some(until) => until < window["from"].as_str().unwrap(),
            None => window["scored"] == 0,
        };
        assert!(windows.iter().all(|window| before(&window)), "{windows:?}");
        let header = store.sets().unwrap().into_iter().find(|header| header.spec.name == "rnn").unwrap();
        let (folds, networks) = (header.meta["folds"].as_array().unwrap(), header.meta["networks"].as_array().unwrap());
        let fitted: Vec<_> = folds.iter().zip(networks).filter(|(_, network)| !network.is_null()).collect();
        assert!(!fitted.is_empty(), "{folds:?}");
        for (fold, network) in fitted {
            let until = network["vectors_until"].as_str().unwrap();
            assert!(until < fold["test"][0].as_str().unwrap() && until <= fold["fitted_until"].as_str().unwrap());
        }
    }

    // The same bytes from nothing with more threads.
    fs::remove_dir_all(folder.join(".inkstone")).unwrap();
    fs::remove_dir_all(folder.join("exports")).unwrap();
    run(folder, &["run", "--headless", "--threads", "3"]).finished();
    assert_same_files(&once, &results(folder));

    // A column that the file does not have, and settings of the wrong model.
    edit(&config, "expression = \"given.c2\"", "expression = \"given.tone\"");
    let error = run(folder, &["run", "--headless"]).left_out();
    assert_says(&error, &["\"given\" has no column \"tone\"; it has c1, c2"]);
    edit(&config, "word2vec = { dim = 8,", "word2vec = { dim = 0,");
    edit(&config, "embeddings = { feature = \"places\" }", "embeddings = { feature = \"given\" }");
    let error = run(folder, &["run", "--headless"]).refusal();
    assert_says(
        &error,
        &[
            "word2vec.dim: 0 is out of bounds; write one from 1 to 10000",
            "embeddings.feature = \"given\" names no feature with model = word2vec, glove or fasttext",
        ],
    );
}
