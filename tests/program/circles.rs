//! The direction of imports: no circle of files runs through two folders of a crate.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use regex::Regex;

type Module = Vec<String>;

/// The files of a crate with what they import.
struct Imports {
    /// The code of each module's file, without comments, visibilities and tests.
    code: BTreeMap<Module, String>,
    /// The origin of each name that a module exports from another.
    exported: BTreeMap<(Module, String), Module>,
}

impl Imports {
    fn read(root: &Path) -> Imports {
        let aside = Regex::new(r"(?m)//.*$|\(in [\w:]+\)").unwrap();
        let mut code = BTreeMap::new();
        for entry in walkdir::WalkDir::new(root) {
            let path = entry.unwrap().into_path();
            let within = path.strip_prefix(root).unwrap().with_extension("");
            let mut module: Module = within.iter().map(|part| part.to_str().unwrap().to_owned()).collect();
            let is_test = |part: &String| matches!(part.as_str(), "tests" | "testing" | "main" | "hostile");
            if path.extension().is_none_or(|extension| extension != "rs") || module.iter().any(is_test) {
                continue;
            }
            if module.last().is_some_and(|last| last == "mod" || last == "lib") {
                module.pop();
            }
            let text = fs::read_to_string(&path).unwrap();
            let product = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
            code.insert(module, aside.replace_all(product, "").into_owned());
        }
        let mut imports = Imports { code, exported: BTreeMap::new() };
        let export = Regex::new(r"\bpub(?:\([^)]*\))? use ([^;]+);").unwrap();
        for (module, code) in &imports.code {
            for found in export.captures_iter(code) {
                for path in leaves(&found[1]) {
                    let Some(origin) = imports.absolute(&path, module) else { continue };
                    let name = origin.last().cloned().unwrap_or_default();
                    imports.exported.insert((module.clone(), name), origin);
                }
            }
        }
        imports
    }

    /// A path from the root of the crate; none for a path into another crate.
    fn absolute(&self, path: &[String], module: &[String]) -> Option<Module> {
        let supers = path.iter().take_while(|part| *part == "super").count();
        match path.first()?.as_str() {
            "crate" => Some(path[1..].to_vec()),
            "self" => Some([module, &path[1..]].concat()),
            "super" => Some([module.get(..module.len().checked_sub(supers)?)?, &path[supers..]].concat()),
            first => self.code.contains_key(&[module, &[first.to_owned()]].concat()).then(|| [module, path].concat()),
        }
    }

    /// The module whose file has the item at a path.
    fn module_of(&self, path: &[String]) -> Option<Module> {
        let module = (0..=path.len()).rev().map(|end| &path[..end]).find(|module| self.code.contains_key(*module))?;
        let Some(name) = path.get(module.len()) else { return Some(module.to_vec()) };
        match self.exported.get(&(module.to_vec(), name.clone())) {
            Some(origin) if origin != path => self.module_of(&[origin, &path[module.len() + 1..]].concat()),
            _ => Some(module.to_vec()),
        }
    }

    /// By module, the modules that it imports from.
    fn edges(&self) -> BTreeMap<Module, BTreeSet<Module>> {
        let import = Regex::new(r"(pub )?\buse ([^;]+);|\b((?:crate|super|self)(?:::\w+)+)(:?)").unwrap();
        let of_module = |(module, code): (&Module, &String)| {
            let mut found = BTreeSet::new();
            for captures in import.captures_iter(code).filter(|captures| captures.get(1).is_none()) {
                let paths = match (captures.get(2), captures.get(3)) {
                    (Some(tree), _) => leaves(tree.as_str()),
                    (None, Some(path)) => leaves(path.as_str()),
                    (None, None) => Vec::new(),
                };
                let absolute = paths.iter().filter_map(|path| self.absolute(path, module));
                found.extend(absolute.filter_map(|path| self.module_of(&path)).filter(|other| other != module));
            }
            (module.clone(), found)
        };
        self.code.iter().map(of_module).collect()
    }
}

/// The paths of a tree such as `super::{a, b::{c, d as e}}`.
fn leaves(tree: &str) -> Vec<Module> {
    let Some((prefix, rest)) = tree.split_once('{') else {
        let path = tree.split(" as ").next().unwrap_or_default().trim();
        return vec![path.split("::").filter(|part| !part.is_empty()).map(|part| part.trim().to_owned()).collect()];
    };
    let inner = rest.rsplit_once('}').map_or(rest, |(inner, _)| inner);
    let (mut depth, mut parts) = (0, vec![String::new()]);
    for c in inner.chars() {
        depth += i32::from(c == '{') - i32::from(c == '}');
        match c {
            ',' if depth == 0 => parts.push(String::new()),
            c => parts.last_mut().unwrap().push(c),
        }
    }
    let parts = parts.iter().filter(|part| !part.trim().is_empty());
    parts.flat_map(|part| leaves(&format!("{}{}", prefix.trim(), part.trim()))).collect()
}

/// The folder of a module's file.
fn folder<'m>(module: &'m [String], root: &Path) -> &'m [String] {
    let is_folder = root.join(module.join("/")).join("mod.rs").exists() || module.is_empty();
    if is_folder { module } else { &module[..module.len() - 1] }
}

/// A way from one module to another, if there is one.
fn way(edges: &BTreeMap<Module, BTreeSet<Module>>, from: &Module, to: &Module) -> Option<Vec<String>> {
    let mut before: BTreeMap<&Module, &Module> = BTreeMap::new();
    let mut open = vec![from];
    while let Some(module) = open.pop() {
        for next in &edges[module] {
            if next != from && !before.contains_key(next) {
                before.insert(next, module);
                open.push(next);
            }
        }
    }
    let mut way = vec![to.join("::")];
    let mut at = to;
    while at != from {
        at = before.get(at)?;
        way.insert(0, at.join("::"));
    }
    Some(way)
}

#[test]
fn no_circle_of_imports_runs_through_two_folders() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut crates = vec!["src".to_owned()];
    for entry in fs::read_dir(root.join("crates")).unwrap() {
        crates.push(format!("crates/{}/src", entry.unwrap().file_name().to_str().unwrap()));
    }
    assert!(crates.len() > 10);
    let mut imported = 0;
    for name in crates {
        let source = root.join(&name);
        let edges = Imports::read(&source).edges();
        imported += edges.values().map(BTreeSet::len).sum::<usize>();
        let pairs = edges.iter().flat_map(|(from, others)| others.iter().map(move |to| (from, to)));
        let circle = pairs
            .filter(|(from, to)| folder(from, &source) != folder(to, &source))
            // A folder's own file names its parts, and they may name it.
            .filter(|(from, to)| !from.starts_with(to) && !to.starts_with(from))
            .find_map(|(from, to)| Some((from, way(&edges, to, from)?)));
        if let Some((from, way)) = circle {
            panic!("{name}: {} imports from {}", from.join("::"), way.join(", which imports from "));
        }
    }
    assert!(imported > 1000, "{imported} imports were found: does the test still read them?");
}
