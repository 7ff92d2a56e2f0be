//! Checks of the values of a configuration, beyond the types of its keys.

use std::ffi::OsStr;
use std::path::{Component, Path};

use super::Config;
use super::check::Problem;
use super::hook::HookEvent;
use super::vary;
use inkstone_base::disk;
use inkstone_corpus::ingest::Table;
use inkstone_features::extract::{Model, in_order_of_inputs};
use inkstone_lab::factor::{Within, check_feature_name};
use inkstone_onnx::Output;

/// The reason why no factor can be made of this feature and column; none if one can.
fn refusal_of_feature(config: &Config, name: &str, column: Option<&str>) -> Option<String> {
    let feature = match config.find_feature(name) {
        Ok(feature) => feature,
        Err(error) => return Some(error.to_string()),
    };
    let is_sparse = feature.model == Model::Onnx && feature.onnx.output == Output::Weights;
    if feature.model == Model::Tfidf || is_sparse {
        return Some(format!("feature {name:?} has rows of many columns; a factor needs a model with a score"));
    }
    let column = column.filter(|column| !feature.has_column(column))?;
    let known = match feature.model {
        Model::Onnx => "c1, c2, ... up to the length of its vectors".to_owned(),
        _ => feature.columns().join(", "),
    };
    Some(format!("feature {name:?} has no column {column:?}; it has {known}"))
}

/// Folders that the program writes and clears, in which nothing else may be.
fn folders(config: &Config) -> Vec<Problem> {
    let folders = [
        ("project.dir", &config.project.dir),
        ("project.exports", &config.project.exports),
        ("report.dir", &config.report.dir),
    ];
    let mut problems = Vec::new();
    for (i, (path, folder)) in folders.into_iter().enumerate() {
        let way_out = "name a folder of its own";
        let same = folders[..i].iter().find(|(_, other)| names_of(other) == names_of(folder));
        let message = if folder.as_os_str().is_empty() {
            format!("is empty: {way_out}")
        } else if folder.to_string_lossy().starts_with('~') {
            format!("{:?}: ~ is not expanded here; write the path in full", folder.display().to_string())
        } else if names_of(folder).is_empty() {
            format!(
                "{:?} is the folder of the configuration or one above it, with files of yours: {way_out}",
                folder.display().to_string()
            )
        } else if let Some((other, _)) = same {
            format!("{:?} is the folder of {other} as well: {way_out}", folder.display().to_string())
        } else {
            continue;
        };
        problems.push(Problem::new(path, message));
    }
    let [dir, exports] = [&config.project.dir, &config.project.exports].map(|folder| names_of(folder));
    if dir.len() > exports.len() && dir.starts_with(&exports) {
        let message = "lies within project.exports, which every export replaces: name a folder beside it";
        problems.push(Problem::new("project.dir", message));
    }
    problems
}

/// The names that a path goes through, without those that it leaves again; none where it leads to where it began, or above that.
fn names_of(path: &Path) -> Vec<&OsStr> {
    let mut names = Vec::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => names.push(name),
            Component::ParentDir => drop(names.pop()),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    names
}

/// Fails where no source of documents has the name; the error lists those that there are.
fn source_of_documents(config: &Config, name: &str) -> Result<(), String> {
    let names: Vec<&str> =
        config.source.iter().filter(|s| s.table == Table::Documents).map(|s| s.name.as_str()).collect();
    if names.contains(&name) {
        return Ok(());
    }
    let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    Err(match config.source.iter().any(|s| s.name == name) {
        true => format!("{name:?} has no documents; sources of documents are: {known}"),
        false => format!("there is no source {name:?}; sources of documents are: {known}"),
    })
}

/// Faults in the names of sources, and in the conditions, of features and factors.
fn gates(config: &Config) -> Vec<Problem> {
    let features = config.feature.iter().enumerate().map(|(i, feature)| {
        let fault = feature.only.of_document_and_features().err().filter(|_| !feature.only.is_empty());
        (format!("feature[{i}]"), &feature.within, fault)
    });
    let factors = config.factor.iter().enumerate().map(|(i, factor)| {
        let fault = factor.only.of_document().err().filter(|_| !factor.only.is_empty());
        (format!("factor[{i}]"), &factor.within, fault)
    });
    let mut problems = Vec::new();
    for (at, within, fault) in features.chain(factors) {
        if let Some(error) = fault {
            problems.push(Problem::new(format!("{at}.only"), format!("{error:#}")));
        }
        let Some(Within { source, .. }) = within else { continue };
        if let Err(message) = source_of_documents(config, source) {
            problems.push(Problem::new(format!("{at}.within.source"), message));
        }
    }
    for (i, factor) in config.factor.iter().enumerate() {
        for message in factor.source_weights.keys().filter_map(|name| source_of_documents(config, name).err()) {
            problems.push(Problem::new(format!("factor[{i}].source_weights"), message));
        }
    }
    problems
}

/// Everything that makes no sense, in any order.
pub(super) fn problems(config: &Config) -> Vec<Problem> {
    let mut problems = folders(config);
    problems.extend(gates(config));
    for (i, source) in config.source.iter().enumerate() {
        problems.extend(source.problems().into_iter().map(|p| Problem::new(format!("source[{i}]"), p)));
    }
    let precedence = config.ingest.precedence_problems(&config.source);
    problems.extend(precedence.into_iter().map(|message| Problem::new("ingest.precedence", message)));
    for (section, names) in [
        ("source", names(&config.source, |s| &s.name)),
        ("rewrite", names(&config.rewrite, |r| &r.name)),
        ("feature", names(&config.feature, |f| &f.name)),
        ("factor", names(&config.factor, |f| &f.name)),
    ] {
        names_in(section, &names, &mut problems);
    }
    for (i, rewrite) in config.rewrite.iter().enumerate() {
        if let Err(error) = rewrite.check() {
            problems.push(Problem::new(format!("rewrite[{i}]"), format!("{error:#}")));
        }
    }
    for (i, feature) in config.feature.iter().enumerate() {
        if !feature.text.is_empty()
            && let Err(error) = config.find_rewrite(&feature.text)
        {
            problems.push(Problem::new(format!("feature[{i}].text"), error.to_string()));
        }
        if let Err(error) = feature.check().and_then(|()| feature.check_settings()) {
            problems.push(Problem::new(format!("feature[{i}]"), format!("{error:#}")));
        }
        if let Err(error) = feature.check_embeddings(&config.feature) {
            problems.push(Problem::new(format!("feature[{i}].embeddings"), format!("{error:#}")));
        }
    }
    for (i, feature) in config.feature.iter().enumerate() {
        if let Err(error) = check_feature_name(&feature.name) {
            problems.push(Problem::new(format!("feature[{i}].name"), format!("{error:#}")));
        }
    }
    if let Err(error) = in_order_of_inputs(&config.feature) {
        problems.push(Problem::new("feature", format!("{error:#}")));
    }
    for (i, factor) in config.factor.iter().enumerate() {
        if let Err(error) = factor.validate() {
            problems.push(Problem::new(format!("factor[{i}]"), format!("{error:#}")));
        }
        for expression in factor.expressions() {
            let at = || {
                format!("factor[{i}].{}", if *expression == factor.expression { "expression" } else { "neutralise" })
            };
            let wrong =
                expression.features().into_iter().filter_map(|(name, column)| refusal_of_feature(config, name, column));
            let earlier: Vec<&str> = config.factor[..i].iter().map(|f| f.name.as_str()).collect();
            let unknown = expression.factors().into_iter().filter(|name| !earlier.contains(name)).map(|name| {
                let known = if earlier.is_empty() { "none".to_owned() } else { earlier.join(", ") };
                format!("there is no factor {name:?} before this one; there are: {known}")
            });
            problems.extend(wrong.chain(unknown).map(|message| Problem::new(at(), message)));
        }
    }
    for (i, hook) in config.on.iter().enumerate() {
        if hook.run.is_empty() {
            let message = "is empty: give a program and its arguments, as run = [\"python3\", \"tell.py\"]";
            problems.push(Problem::new(format!("on[{i}].run"), message));
        }
        let (what, known) = match hook.event {
            HookEvent::Silence => ("source", names(&config.source, |s| &s.name)),
            _ => ("factor", names(&config.factor, |f| &f.name)),
        };
        for name in hook.of.iter().filter(|name| !known.contains(&name.as_str())) {
            let message = format!("there is no {what} {name:?}; there are: {}", known.join(", "));
            problems.push(Problem::new(format!("on[{i}].of"), message));
        }
    }
    names_in("experiment", &names(&config.experiment, |experiment| &experiment.name), &mut problems);
    for (i, experiment) in config.experiment.iter().enumerate() {
        if let Err(error) = experiment.check() {
            problems.push(Problem::new(format!("experiment[{i}]"), format!("{error:#}")));
        }
        let unknown = experiment.features.iter().filter_map(|name| config.find_feature(name).err());
        let at = format!("experiment[{i}].features");
        problems.extend(unknown.map(|error| Problem::new(&at, error.to_string())));
        let unfit = vary::problems(experiment, &config.feature, &config.tokenizer);
        let at = |path: String| format!("experiment[{i}].vary.{path}");
        problems.extend(unfit.into_iter().map(|(path, why)| Problem::new(at(path), why)));
    }
    for (section, result) in [
        ("clean", config.clean.check()),
        ("structure", config.structure.check()),
        ("backtest", config.backtest.validate()),
        ("events", config.events.validate()),
        ("lint", config.lint.validate()),
    ] {
        if let Err(error) = result {
            problems.push(Problem::new(section, format!("{error:#}")));
        }
    }
    problems
}

fn names<'c, T>(items: &'c [T], name: impl Fn(&'c T) -> &'c str) -> Vec<&'c str> {
    items.iter().map(name).collect()
}

/// Names are files and columns later on: each is given, unique, and free of marks that paths or tables read.
fn names_in(section: &str, names: &[&str], problems: &mut Vec<Problem>) {
    for (i, name) in names.iter().enumerate() {
        let at = format!("{section}[{i}].name");
        let harmless = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
        if name.is_empty() {
            problems.push(Problem::new(at, format!("is missing: every [[{section}]] needs a name")));
        } else if !name.chars().all(harmless) {
            problems.push(Problem::new(at, format!("{name:?}: use letters, digits, _ and - only")));
        } else if let Some(why) = disk::no_file_name(name) {
            problems.push(Problem::new(at, format!("{name:?} becomes a file name, and {why}; choose another")));
        } else if names[..i].contains(name) {
            problems.push(Problem::new(at, format!("{name:?} is taken by another [[{section}]]")));
        }
    }
}
