//! Programs of the user beside the workbench: the editor on the configuration, and whatever opens a page.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use inkstone_base::language::Word;
use inkstone_base::{bail, ensure, message};

/// The editor on a file, at a line. It has the terminal until it ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EditRequest {
    pub(crate) file: PathBuf,
    /// Number of the line, from 1.
    pub(crate) line: usize,
}

/// The editor of the user: VISUAL, else EDITOR, else vi.
fn editor() -> String {
    let named = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
    named("VISUAL").or_else(|| named("EDITOR")).unwrap_or_else(|| "vi".to_owned())
}

/// The words of the command that opens a file at a line.
fn editor_command(editor: &str, EditRequest { file, line }: &EditRequest) -> Vec<String> {
    let mut words: Vec<String> = editor.split_whitespace().map(str::to_owned).collect();
    let program = words.first().map(|program| Path::new(program).file_stem().unwrap_or_default().to_string_lossy());
    let (path, at_line) = (file.display().to_string(), format!("{}:{line}", file.display()));
    match program.as_deref().unwrap_or_default() {
        "vi" | "vim" | "nvim" | "view" | "nano" | "emacs" | "emacsclient" | "micro" | "joe" | "kak" => {
            words.extend([format!("+{line}"), path]);
        }
        "hx" | "helix" | "subl" | "zed" => words.push(at_line),
        "code" | "codium" | "cursor" => words.extend(["--wait".to_owned(), "--goto".to_owned(), at_line]),
        _ => words.push(path),
    }
    words
}

/// Runs the editor on this terminal until it ends.
pub(crate) fn edit(request: &EditRequest) -> Result<()> {
    let editor = editor();
    let words = editor_command(&editor, request);
    let (program, arguments) = words.split_first().context(Word("EDITOR 是空的", "EDITOR is empty"))?;
    let ended = Command::new(program).args(arguments).status().with_context(|| {
        message!(
            "无法启动编辑器 {editor:?}：请把环境变量 EDITOR 设为你的编辑器",
            "cannot start the editor {editor:?}: set the variable EDITOR to yours"
        )
    })?;
    ensure!(ended.success(), "编辑器 {editor:?} 以 {ended} 结束", "the editor {editor:?} ended with {ended}");
    Ok(())
}

/// Opens a file with the program that the system has for it, and does not wait for that program.
pub(crate) fn open(file: &Path) -> Result<()> {
    let shown = file.display();
    let has_screen = ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| std::env::var_os(name).is_some());
    if cfg!(target_os = "linux") && !has_screen {
        bail!(
            "这里没有图形界面；请用浏览器打开 {shown}",
            "there is no graphical screen here; open {shown} in a browser"
        );
    }
    let mut command = match std::env::consts::OS {
        "macos" => Command::new("open"),
        "windows" => Command::new("explorer"),
        _ => Command::new("xdg-open"),
    };
    let started = command.arg(file).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    started.with_context(|| message!("无法打开 {shown}", "cannot open {shown}"))?;
    Ok(())
}

/// The line of a section of a configuration, from 1: of the table `section` whose name is `name`, or of the first such table.
pub(crate) fn line_of_section(text: &str, section: &str, name: &str) -> usize {
    let (mut here, mut first) = (None, None);
    for (number, line) in (1..).zip(text.lines().map(str::trim)) {
        if line.starts_with('[') {
            let opens = line == format!("[[{section}]]") || line == format!("[{section}]");
            here = opens.then_some(number);
            first = first.or(here);
        } else if let (Some(start), Some(value)) = (here, line.strip_prefix("name"))
            && value.trim_start().strip_prefix('=').is_some_and(|value| value.trim().trim_matches(['"', '\'']) == name)
        {
            return start;
        }
    }
    first.unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn editors_are_given_the_line_in_their_own_way() {
        let request = EditRequest { file: "a b/workbench.toml".into(), line: 12 };
        let command = |editor: &str| editor_command(editor, &request);
        assert_eq!(command("/usr/bin/nvim -R"), ["/usr/bin/nvim", "-R", "+12", "a b/workbench.toml"]);
        assert_eq!(command("hx"), ["hx", "a b/workbench.toml:12"]);
        assert_eq!(command("code"), ["code", "--wait", "--goto", "a b/workbench.toml:12"]);
        assert_eq!(command("ed"), ["ed", "a b/workbench.toml"]);
    }

    #[test]
    fn a_section_is_found_by_its_name() {
        let text = "[project]\nname = \"tone\"\n\n[[feature]]\nname = \"words\"\n[[feature]]\nmodel = 1\nname='tone'\n[[factor]]\n";
        assert_eq!(line_of_section(text, "feature", "tone"), 6);
        assert_eq!(line_of_section(text, "feature", "none"), 4, "the first section of the kind");
        assert_eq!(line_of_section(text, "factor", "tone"), 9);
        assert_eq!(line_of_section(text, "experiment", "x"), 1);
    }
}
