//! Checks of the values of a configuration, beyond the types of its keys.

use std::ffi::OsStr;
use std::path::{Component, Path};

use super::Config;
use super::check::Problem;
use super::hook::HookEvent;
use super::vary;
use inkstone_base::disk;
use inkstone_base::language::{Message, Word};
use inkstone_base::message;
use inkstone_corpus::ingest::Table;
use inkstone_features::extract::{Model, in_order_of_inputs};
use inkstone_lab::factor::{self, Plan, Within, check_feature_name};
use inkstone_onnx::Output;

/// The reason why no factor can be made of this feature and column; none if one can.
fn refusal_of_feature(config: &Config, name: &str, column: Option<&str>) -> Option<Message> {
    let feature = match config.find_feature(name) {
        Ok(feature) => feature,
        Err(error) => return Some(Message::of_error(&error)),
    };
    let is_sparse = feature.model == Model::Onnx && feature.onnx.output == Output::Weights;
    if feature.model == Model::Tfidf || is_sparse {
        return Some(message!(
            "特征 {name:?} 每行有许多列；因子需要带得分的模型",
            "feature {name:?} has rows of many columns; a factor needs a model with a score"
        ));
    }
    let column = column.filter(|column| !feature.has_column(column))?;
    let known = match feature.model {
        Model::Onnx => message!("c1、c2……直到向量的维数", "c1, c2, ... up to the length of its vectors"),
        _ => Message::same(feature.columns().join(", ")),
    };
    Some(message!(
        "特征 {name:?} 没有列 {column:?}；它有 {known}",
        "feature {name:?} has no column {column:?}; it has {known}"
    ))
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
        let way_out = Word("请另指定一个文件夹", "name a folder of its own");
        let same = folders[..i].iter().find(|(_, other)| names_of(other) == names_of(folder));
        let message = if folder.as_os_str().is_empty() {
            message!("为空：{way_out}", "is empty: {way_out}")
        } else if folder.to_string_lossy().starts_with('~') {
            message!(
                "{:?}：这里不展开 ~；请写完整路径",
                "{:?}: ~ is not expanded here; write the path in full",
                folder.display().to_string()
            )
        } else if names_of(folder).is_empty() {
            message!(
                "{:?} 是配置所在的文件夹或其上级，里面有你的文件：{way_out}",
                "{:?} is the folder of the configuration or one above it, with files of yours: {way_out}",
                folder.display().to_string()
            )
        } else if let Some((other, _)) = same {
            message!(
                "{:?} 也是 {other} 的文件夹：{way_out}",
                "{:?} is the folder of {other} as well: {way_out}",
                folder.display().to_string()
            )
        } else {
            continue;
        };
        problems.push(Problem::new(path, message));
    }
    let [dir, exports] = [&config.project.dir, &config.project.exports].map(|folder| names_of(folder));
    if dir.len() > exports.len() && dir.starts_with(&exports) {
        let message = message!(
            "位于 project.exports 之内，而每次导出都会替换它：请指定它旁边的文件夹",
            "lies within project.exports, which every export replaces: name a folder beside it"
        );
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
fn source_of_documents(config: &Config, name: &str) -> Result<(), Message> {
    let names: Vec<&str> =
        config.source.iter().filter(|s| s.table == Table::Documents).map(|s| s.name.as_str()).collect();
    if names.contains(&name) {
        return Ok(());
    }
    let known = listed(&names);
    Err(match config.source.iter().any(|s| s.name == name) {
        true => message!(
            "{name:?} 没有文档；文档来源有：{known}",
            "{name:?} has no documents; sources of documents are: {known}"
        ),
        false => message!(
            "没有来源 {name:?}；文档来源有：{known}",
            "there is no source {name:?}; sources of documents are: {known}"
        ),
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
            problems.push(Problem::new(format!("{at}.only"), Message::of_error(&error)));
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
        ("event", names(&config.event, |e| &e.name)),
        ("feature", names(&config.feature, |f| &f.name)),
        ("factor", names(&config.factor, |f| &f.name)),
    ] {
        names_in(section, &names, &mut problems);
    }
    for (i, rewrite) in config.rewrite.iter().enumerate() {
        if let Err(error) = rewrite.check() {
            problems.push(Problem::new(format!("rewrite[{i}]"), Message::of_error(&error)));
        }
    }
    for (i, rule) in config.event.iter().enumerate() {
        if let Err(error) = rule.check() {
            problems.push(Problem::new(format!("event[{i}]"), Message::of_error(&error)));
        }
    }
    for (i, feature) in config.feature.iter().enumerate() {
        if !feature.text.is_empty()
            && let Err(error) = config.find_rewrite(&feature.text)
        {
            problems.push(Problem::new(format!("feature[{i}].text"), Message::of_error(&error)));
        }
        if let Err(error) = feature.check().and_then(|()| feature.check_settings()) {
            problems.push(Problem::new(format!("feature[{i}]"), Message::of_error(&error)));
        }
        if let Err(error) = feature.check_embeddings(&config.feature) {
            problems.push(Problem::new(format!("feature[{i}].embeddings"), Message::of_error(&error)));
        }
    }
    for (i, feature) in config.feature.iter().enumerate() {
        if let Err(error) = check_feature_name(&feature.name) {
            problems.push(Problem::new(format!("feature[{i}].name"), Message::of_error(&error)));
        }
    }
    if let Err(error) = in_order_of_inputs(&config.feature) {
        problems.push(Problem::new("feature", Message::of_error(&error)));
    }
    for (i, factor) in config.factor.iter().enumerate() {
        if let Err(error) = factor.validate() {
            problems.push(Problem::new(format!("factor[{i}]"), Message::of_error(&error)));
        }
        let unknown = unknown_events(config, factor).into_iter();
        problems.extend(unknown.map(|why| Problem::new(format!("factor[{i}].expression"), why)));
        for expression in factor.expressions() {
            let at = || {
                format!("factor[{i}].{}", if *expression == factor.expression { "expression" } else { "neutralise" })
            };
            let wrong =
                expression.features().into_iter().filter_map(|(name, column)| refusal_of_feature(config, name, column));
            let earlier: Vec<&str> = config.factor[..i].iter().map(|f| f.name.as_str()).collect();
            let unknown = expression.factors().into_iter().filter(|name| !earlier.contains(name)).map(|name| {
                let known = listed(&earlier);
                message!(
                    "此前没有因子 {name:?}；现有：{known}",
                    "there is no factor {name:?} before this one; there are: {known}"
                )
            });
            problems.extend(wrong.chain(unknown).map(|message| Problem::new(at(), message)));
        }
    }
    for (i, hook) in config.on.iter().enumerate() {
        if hook.run.is_empty() {
            let message = message!(
                "为空：请写程序及其参数，如 run = [\"python3\", \"tell.py\"]",
                "is empty: give a program and its arguments, as run = [\"python3\", \"tell.py\"]"
            );
            problems.push(Problem::new(format!("on[{i}].run"), message));
        }
        let (what, known) = match hook.event {
            HookEvent::Silence => (Word("来源", "source"), names(&config.source, |s| &s.name)),
            _ => (Word("因子", "factor"), names(&config.factor, |f| &f.name)),
        };
        for name in hook.of.iter().filter(|name| !known.contains(&name.as_str())) {
            let message = message!(
                "没有{what} {name:?}；现有：{}",
                "there is no {what} {name:?}; there are: {}",
                known.join(", ")
            );
            problems.push(Problem::new(format!("on[{i}].of"), message));
        }
    }
    names_in("experiment", &names(&config.experiment, |experiment| &experiment.name), &mut problems);
    for (i, experiment) in config.experiment.iter().enumerate() {
        if let Err(error) = experiment.check() {
            problems.push(Problem::new(format!("experiment[{i}]"), Message::of_error(&error)));
        }
        let unknown = experiment.features.iter().filter_map(|name| config.find_feature(name).err());
        let at = format!("experiment[{i}].features");
        problems.extend(unknown.map(|error| Problem::new(&at, Message::of_error(&error))));
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
            problems.push(Problem::new(section, Message::of_error(&error)));
        }
    }
    problems
}

/// The kinds of events that a factor reads and nobody finds. The kinds of a table are known when it has been read.
fn unknown_events(config: &Config, factor: &factor::Params) -> Vec<Message> {
    let known = names(&config.event, |event| &event.name);
    let has_table = config.source.iter().any(|source| source.table == Table::Events);
    let Some(plan) = Plan::new(factor).ok().filter(|_| !has_table) else { return Vec::new() };
    let unknown = plan.events().into_iter().filter(|kind| !known.contains(kind));
    let problem = |kind| {
        message!(
            "没有 [[event]] {kind:?}，也没有 table = \"events\" 的 [[source]]；现有：{}",
            "there is no [[event]] {kind:?}, and no [[source]] with table = \"events\"; there are: {}",
            listed(&known)
        )
    };
    unknown.map(problem).collect()
}

/// Names with commas, or a word for none.
fn listed(names: &[&str]) -> Message {
    if names.is_empty() { Word("无", "none").into() } else { Message::same(names.join(", ")) }
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
            problems.push(Problem::new(
                at,
                message!("缺少：每个 [[{section}]] 都须有名称", "is missing: every [[{section}]] needs a name"),
            ));
        } else if !name.chars().all(harmless) {
            problems.push(Problem::new(
                at,
                message!("{name:?}：只能用文字、数字、_ 和 -", "{name:?}: use letters, digits, _ and - only"),
            ));
        } else if let Some(why) = disk::no_file_name(name) {
            problems.push(Problem::new(
                at,
                message!(
                    "{name:?} 要用作文件名，而{why}；请换一个",
                    "{name:?} becomes a file name, and {why}; choose another"
                ),
            ));
        } else if names[..i].contains(name) {
            problems.push(Problem::new(
                at,
                message!("{name:?} 已被另一个 [[{section}]] 使用", "{name:?} is taken by another [[{section}]]"),
            ));
        }
    }
}
