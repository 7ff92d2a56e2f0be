//! The repository itself: heavy crates by one door, a map that is true, a README that can be typed.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn text(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// The Rust files below these folders, relative to the root, with their text.
fn sources(folders: &[&str]) -> Vec<(PathBuf, String)> {
    let mut files = Vec::new();
    for folder in folders {
        for entry in walkdir::WalkDir::new(root().join(folder)).sort_by_file_name() {
            let path = entry.unwrap().into_path();
            if path.extension().is_some_and(|e| e == "rs") {
                files.push((path.strip_prefix(root()).unwrap().to_owned(), fs::read_to_string(&path).unwrap()));
            }
        }
    }
    assert!(files.len() > 5);
    files
}

#[test]
fn heavy_crates_enter_by_one_door() {
    let doors = [
        ("sled", "crates/store/src"),
        ("jieba_rs", "crates/text/src"),
        ("tokenizers", "crates/text/src/subword"),
        ("ort", "crates/onnx/src"),
        ("hayro_interpret", "crates/corpus/src/ingest/papers/pdf"),
        ("html5gum", "crates/corpus/src/ingest/papers"),
        ("quick_xml", "crates/corpus/src/ingest/papers"),
        ("calamine", "crates/corpus/src/ingest"),
        ("cfb", "crates/corpus/src/ingest"),
        ("ratatui", "crates/tui/src"),
        ("crossterm", "crates/tui/src"),
        ("plotters", "crates/report/src"),
        ("resvg", "crates/report/src"),
    ];
    for (name, door) in doors {
        let mut used = false;
        for (path, text) in sources(&["src", "crates"]) {
            let breach = regex::Regex::new(&format!(r"\b{name}::|\buse {name}\b")).unwrap();
            let uses = text.lines().any(|line| !line.trim_start().starts_with("//") && breach.is_match(line));
            // What only tests are made of may use what it likes.
            let within = path.starts_with(door) || path.ends_with("testing.rs") || path.ends_with("markup.rs");
            assert!(!uses || within, "{} uses {name}, whose door is {door}", path.display());
            used |= uses;
        }
        assert!(used, "{name} is used nowhere: is the test out of date?");
    }
}

/// The table of dependencies in ARCHITECTURE.md: the crates that each crate may use, the lowest first. Cargo forbids circles; the table
/// forbids dependencies that nobody meant.
fn crates() -> Vec<(String, Vec<String>)> {
    let architecture = text("ARCHITECTURE.md");
    let (_, section) = architecture.split_once("## Dependencies").unwrap();
    let table =
        section.lines().skip_while(|line| !line.starts_with("    ")).take_while(|line| line.starts_with("    "));
    let row = |line: &str| {
        let mut names = line.split_whitespace().map(str::to_owned);
        (names.next().unwrap(), names.collect())
    };
    table.map(row).collect()
}

/// Crates that Python and clusters load: frames, command lines and terminals stay out of them.
const LIGHT: [&str; 4] = ["base", "text", "models", "onnx"];

#[test]
fn crates_depend_in_one_direction() {
    let manifest = |name: &str| text(&format!("crates/{name}/Cargo.toml")).parse::<toml::Table>().unwrap();
    let folders = fs::read_dir(root().join("crates")).unwrap();
    let mut there: Vec<String> = folders.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    let crates = crates();
    let mut listed: Vec<&String> = crates.iter().map(|(name, _)| name).collect();
    there.sort();
    listed.sort_unstable();
    assert_eq!(there.iter().collect::<Vec<_>>(), listed);
    for (number, (name, allowed)) in crates.iter().enumerate() {
        let manifest = manifest(name);
        let dependencies = manifest.get("dependencies").and_then(|table| table.as_table()).cloned().unwrap_or_default();
        let used: Vec<&str> = dependencies.keys().filter_map(|key| key.strip_prefix("inkstone-")).collect();
        // Tests of other crates ask for it.
        let used: Vec<&str> = used.into_iter().filter(|used| *used != "testing").collect();
        assert_eq!(used, *allowed, "inkstone-{name}");
        let lower = &crates[..number];
        assert!(
            used.iter().all(|used| lower.iter().any(|(name, _)| name == used)),
            "inkstone-{name} uses a higher crate"
        );
        for heavy in
            ["polars-core", "polars-io", "ratatui", "crossterm"].iter().filter(|_| LIGHT.contains(&name.as_str()))
        {
            assert!(!dependencies.contains_key(*heavy), "inkstone-{name} uses {heavy}");
        }
        if LIGHT.contains(&name.as_str()) {
            let optional =
                |key| dependencies.get(key).is_none_or(|value: &toml::Value| value.get("optional").is_some());
            assert!(optional("clap"), "inkstone-{name} needs clap");
        }
    }
}

#[test]
fn no_file_is_too_long_to_read_in_one_sitting() {
    for (path, text) in sources(&["src", "crates", "tests", "benches"]) {
        let lines = text.lines().count();
        assert!(lines <= 600, "{} has {lines} lines; at most 600", path.display());
    }
}

/// A new model is its own folders and files, its variant in `Feature`, a line of the registry, and a variant of `Train` where `inkstone train`
/// has it.
#[test]
fn a_model_is_named_in_few_files_beside_its_own() {
    for (model, own, most) in
        [("Induced", "/induce", 3), ("Glove", "/glove", 4), ("FastText", "/fasttext", 7), ("Mlp", "/mlp", 7)]
    {
        let test = |path: &str| {
            ["/tests", "tests.rs", "/testing/", "/benches/", "/examples/"].iter().any(|part| path.contains(part))
        };
        let named = |text: &str| {
            text.split(|c: char| !c.is_alphanumeric() && c != '_')
                .any(|word| word == model || word == format!("{model}Params"))
        };
        let mut files: Vec<PathBuf> = sources(&["src", "crates"])
            .into_iter()
            .filter(|(path, text)| {
                let path = path.to_string_lossy();
                !path.contains(own) && !test(&path) && named(text)
            })
            .map(|(path, _)| path)
            .collect();
        files.sort();
        assert!(
            !files.is_empty() && files.len() <= most,
            "{model} is named in {} files, not at most {most}: {files:?}",
            files.len()
        );
    }
}

#[test]
fn the_map_names_every_module_and_no_other() {
    let map = text("ARCHITECTURE.md");
    let lib = text("src/lib.rs");
    for module in lib.lines().filter_map(|line| line.strip_prefix("pub mod ")) {
        let name = module.trim_end_matches(';');
        let named = map.contains(&format!("`src/{name}/`")) || map.contains(&format!("`src/{name}.rs`"));
        assert!(named, "ARCHITECTURE.md does not name {name}");
    }
    let quoted = map.split('`').skip(1).step_by(2);
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(map.contains(&format!("`crates/{name}/`")), "ARCHITECTURE.md does not name crates/{name}");
    }
    let folders = ["src/", "crates/", "tests/", "benches/", "assets/", "datasets/", ".ci/"];
    let is_path = |text: &&str| folders.iter().any(|folder| text.starts_with(folder)) || text.ends_with(".md");
    let paths: Vec<&str> = quoted.filter(is_path).collect();
    assert!(paths.len() > 60, "only {} paths were found: does the test read the map?", paths.len());
    for path in paths {
        assert!(root().join(path).exists(), "ARCHITECTURE.md names {path}, which does not exist");
    }
}

/// The code blocks of a Markdown file, without the comments, which are in the reader's language.
fn commands(file: &str) -> Vec<String> {
    let mut fenced = false;
    let mut lines = Vec::new();
    for line in text(file).lines() {
        if line.starts_with("```") {
            fenced = !fenced;
        } else if fenced || line.starts_with("    ") {
            let code = line.split(" #").next().unwrap_or_default().trim();
            if !code.is_empty() {
                lines.push(code.to_owned());
            }
        }
    }
    lines
}

#[test]
fn the_readme_can_be_typed_in_both_languages() {
    let english = commands("README.md");
    assert_eq!(english[..2], ["cargo run --release -- demo", "cargo test --release"]);
    assert_eq!(english, commands("README.zh-CN.md"));
    assert_eq!(commands("docs/guide.md"), commands("docs/guide.zh-CN.md"));
    // The gates run both commands as they stand there, with the versions of the lock file.
    let gates = text(".ci/run");
    assert!(gates.lines().any(|line| line == format!("timeout 60m {} --locked", english[1])), "{gates}");
    let gates = gates.replace(" --quiet", "").replace(" --locked --manifest-path \"$root/Cargo.toml\"", "");
    assert!(gates.contains(&english[0]), "{gates}");
}

#[test]
fn links_between_the_papers_lead_somewhere() {
    for file in [
        "README.md",
        "README.zh-CN.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "docs/decisions/README.md",
        "docs/methods.md",
        "docs/methods.zh-CN.md",
    ] {
        let text = text(file);
        let folder = Path::new(file).parent().unwrap();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            assert!(link.starts_with("http") || root().join(folder).join(link).exists(), "{file} links to {link}");
        }
    }
}

#[test]
fn the_methods_name_tests_that_exist_and_the_same_in_both_languages() {
    let all: String = sources(&["src", "crates", "tests"]).into_iter().map(|(_, text)| text).collect();
    let is_name = |code: &&str| code.contains('_') && code.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let named = |file: &str| -> BTreeSet<String> {
        let methods = text(file);
        let proofs = methods.lines().filter(|line| line.starts_with("| ")).filter_map(|row| row.rsplit(" | ").next());
        proofs.flat_map(|proof| proof.split('`').skip(1).step_by(2)).filter(is_name).map(str::to_owned).collect()
    };
    let tests = named("docs/methods.md");
    assert_eq!(tests, named("docs/methods.zh-CN.md"));
    assert!(tests.len() > 100, "only {} tests were found: does this test read the table?", tests.len());
    for test in tests {
        assert!(all.contains(&format!("fn {test}(")), "docs/methods.md names {test}, which is no test");
    }
}

/// The error of a library is English: a Chinese text quotes it behind the name of what failed.
#[test]
fn chinese_messages_quote_the_errors_of_libraries() {
    let literal = regex::Regex::new(r#""(?:[^"\\]|\\.)*""#).unwrap();
    let bare = regex::Regex::new(r"(?:^|[^“])\{(?:error|err|e)(?::#)?\}").unwrap();
    let mut quoted = 0;
    for (path, text) in sources(&["src", "crates"]) {
        let text = text.split("#[cfg(test)]").next().unwrap_or_default();
        let product = !["tests.rs", "testing.rs"].iter().any(|name| path.ends_with(name));
        for line in text.lines().filter(|line| product && !line.trim_start().starts_with("//")) {
            let chinese =
                literal.find_iter(line).filter(|found| found.as_str().chars().any(|c| ('一'..='龥').contains(&c)));
            for found in chinese {
                quoted += usize::from(found.as_str().contains("“{e"));
                assert!(!bare.is_match(found.as_str()), "{}: {}", path.display(), found.as_str());
            }
        }
    }
    assert!(quoted > 10, "{quoted} quoted errors: is the test out of date?");
}
