//! Lists the boilerplate of a project, and writes the user's decisions.

use std::path::Path;

use anyhow::{Context, Result};
use serde_json::json;

use crate::cli::Boilerplate as Args;
use crate::config::Config;
use crate::headless::Summary;
use crate::pipeline;
use inkstone_corpus::structure::{Boilerplate, Decisions, Status, decide, read_list};

use inkstone_base::{bail, ensure, message};

/// Number of characters of a sentence in the comment behind its id in the file of decisions.
const TOLD: usize = 40;

pub(super) fn run(args: &Args) -> Result<Summary> {
    let config = Config::read(&args.project.config)?;
    let base = args.project.config.parent().unwrap_or(Path::new(""));
    let path = pipeline::project(&config, base).boilerplate();
    ensure!(
        path.exists(),
        "{} 不存在：请在 {1} 中设置 [structure] enabled = true，并运行 inkstone structure -c {2}",
        "{} does not exist: set [structure] enabled = true in {} and run inkstone structure -c {}",
        path.display(),
        args.project.config.display(),
        args.project.config.display()
    );
    let mut list = read_list(&path)?;
    let file = config.structure.decisions.as_ref().map(|file| base.join(file));
    let mut decisions = match &file {
        Some(file) => Decisions::read(file)?,
        None => Decisions::default(),
    };
    let mut summary = Summary::default();
    if !args.accept.is_empty() || !args.refuse.is_empty() {
        let file = file.with_context(|| {
            message!(
                "没有记决定的文件：请在 {} 的 [structure] 下写 decisions = \"boilerplate.toml\"",
                "there is no file for decisions: write decisions = \"boilerplate.toml\" below [structure] in {}",
                args.project.config.display()
            )
        })?;
        if let Some(both) = args.accept.iter().find(|id| args.refuse.contains(id)) {
            bail!(
                "{both} 同时给了 --accept 与 --refuse：请二选一",
                "{both} is given to both --accept and --refuse: choose one"
            );
        }
        decide(&list, &mut decisions, &args.accept, Status::Accepted)?;
        decide(&list, &mut decisions, &args.refuse, Status::Refused)?;
        decisions.write(&file, |id| {
            let row = list.iter().find(|row| row.id == id)?;
            let text: String = row.text.chars().take(TOLD).collect();
            Some(format!("{}: {text}", row.publisher.as_deref().unwrap_or("-")))
        })?;
        summary.set("written", file.display().to_string());
    }
    for row in &mut list {
        row.status = decisions.status(&row.id);
    }
    if let Some(name) = &args.publisher {
        let asked = |row: &Boilerplate| row.publisher.as_deref().unwrap_or("-") == name;
        if !list.iter().any(asked) {
            let mut known: Vec<&str> = list.iter().map(|row| row.publisher.as_deref().unwrap_or("-")).collect();
            known.dedup();
            bail!(
                "没有机构 {name:?} 的套话；现有：{}",
                "there is no boilerplate of the publisher {name:?}; there is some of: {}",
                known.join(", ")
            );
        }
        list.retain(asked);
    }
    let count = |status| list.iter().filter(|row| row.status == status).count();
    summary.set(
        "counts",
        json!({
            "proposed": count(Status::Proposed), "accepted": count(Status::Accepted), "refused": count(Status::Refused),
            "added": decisions.added(),
        }),
    );
    summary.set("boilerplate", list);
    Ok(summary)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Project;

    #[test]
    fn the_list_is_shown_and_decisions_are_written() {
        let dir = tempfile::tempdir().unwrap();
        let config = dir.path().join("workbench.toml");
        std::fs::write(&config, "[structure]\nenabled = true\n").unwrap();
        let mut args = Args {
            project: Project { config: config.clone() },
            publisher: None,
            accept: Vec::new(),
            refuse: Vec::new(),
        };
        let failed = |args: &Args| match run(args) {
            Ok(_) => panic!("this cannot work"),
            Err(error) => format!("{error:#}"),
        };
        assert!(failed(&args).contains("run inkstone structure"));
        let row = |id: &str, publisher: &str| {
            format!(
                "{{\"id\":\"{id}\",\"publisher\":{publisher},\"text\":\"本报告版权归本公司所有。\",\"documents\":5,\"share\":0.5,\
                 \"first_seen\":\"2024-01-02T10:00:00\",\"known_from\":\"2024-01-03T10:00:00\",\"status\":\"proposed\"}}\n"
            )
        };
        let list = row("aaaaaaaaaa", "null") + &row("bbbbbbbbbb", "\"远山证券\"");
        let folder = dir.path().join(".inkstone/structure");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("boilerplate.jsonl"), list).unwrap();
        args.refuse = vec!["bbbbbbbbbb".into()];
        assert!(failed(&args).contains("decisions = \"boilerplate.toml\""));
        std::fs::write(&config, "[structure]\ndecisions = \"boilerplate.toml\"\n").unwrap();
        let summary = run(&args).unwrap();
        assert_eq!(summary.fields["counts"], json!({"proposed": 1, "accepted": 0, "refused": 1, "added": 0}));
        let written = std::fs::read_to_string(dir.path().join("boilerplate.toml")).unwrap();
        assert!(written.contains("\"bbbbbbbbbb\", # 远山证券: 本报告版权归本公司所有。"), "{written}");
        (args.refuse, args.publisher) = (Vec::new(), Some("远山证券".into()));
        let summary = run(&args).unwrap();
        assert_eq!(summary.fields["boilerplate"][0]["status"], "refused");
        assert_eq!(summary.fields["boilerplate"].as_array().unwrap().len(), 1);
        args.publisher = Some("近水证券".into());
        assert!(failed(&args).contains("-, 远山证券"));
        (args.publisher, args.accept) = (None, vec!["aaaaaaaaab".into()]);
        assert!(failed(&args).contains("did you mean aaaaaaaaaa"));
    }
}
