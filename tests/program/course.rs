//! The pages of `docs/course`: each command runs as it stands and prints the lines below it, and both languages have the same commands.

use std::fs;
use std::path::Path;

use crate::{has_library, through};

fn page(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/course").join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The blocks of a page in this language of code, in order.
fn blocks(page: &str, language: &str) -> Vec<String> {
    let opening = format!("```{language}\n");
    page.split(&opening).skip(1).map(|rest| rest.split("```").next().unwrap().to_owned()).collect()
}

fn follow(name: &str) {
    let english = page(&format!("{name}.md"));
    let chinese = page(&format!("{name}.zh-CN.md"));
    let (commands, expected) = (blocks(&english, "sh"), blocks(&english, "text"));
    assert!(commands.len() >= 4 && commands.len() == expected.len(), "{name}: each block of commands has its lines");
    for language in ["sh", "text"] {
        assert_eq!(blocks(&english, language), blocks(&chinese, language), "{name}");
    }
    let folder = tempfile::tempdir().unwrap();
    for (commands, expected) in commands.iter().zip(expected) {
        // The shell is given the program as its own name.
        let script = format!("exec 2>&1\ninkstone() {{ \"$0\" \"$@\"; }}\n{commands}");
        let output = through(&["sh", "-e", "-c", &script], folder.path(), &[]).output().unwrap();
        let shown = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{name}: {commands}\n{shown}");
        let mut rest = shown.as_str();
        for line in expected.lines() {
            let at = rest.find(line.trim());
            let at = at.unwrap_or_else(|| {
                panic!("{name}: {line:?} does not follow in what this prints:\n{commands}\n{shown}")
            });
            rest = &rest[at + line.trim().len()..];
        }
    }
}

#[test]
fn the_page_on_counting_prints_what_it_says() {
    follow("counting");
}

#[test]
fn the_page_on_vectors_prints_what_it_says() {
    follow("vectors");
}

#[test]
fn the_page_on_contextual_models_prints_what_it_says() {
    if has_library() {
        follow("contextual");
    }
}
