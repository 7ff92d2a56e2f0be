//! Flags of `picture`.

use std::path::PathBuf;

use clap::Args;

use super::Project;

use inkstone_base::language::Word;

/// Draws a page of the workbench without a terminal.
#[derive(Debug, Args)]
pub struct Picture {
    #[command(flatten)]
    pub project: Project,
    /// Keys to press before the page is drawn: characters, and other keys by name, as in `7<enter><down>`.
    ///
    /// 画出之前按的键：字符，以及其他键的名称，如 `7<enter><down>`。
    #[arg(long, default_value = "")]
    pub keys: String,
    /// Columns and rows of the screen.
    ///
    /// 屏幕的列数与行数。
    #[arg(long, default_value = "100x30", value_parser = size, value_name = "COLUMNSxROWS")]
    pub size: (u16, u16),
    /// File to write: .svg, .png or .txt.
    ///
    /// 写出的文件：.svg、.png 或 .txt。
    #[arg(long)]
    pub output: PathBuf,
}

fn size(text: &str) -> Result<(u16, u16), String> {
    let parts = text.split_once('x').and_then(|(wide, high)| Some((wide.parse().ok()?, high.parse().ok()?)));
    match parts {
        Some((wide @ 20..=500, high @ 5..=200)) => Ok((wide, high)),
        _ => Err(Word(
            "请写列数与行数，如 100x30，从 20x5 到 500x200",
            "write columns and rows as 100x30, from 20x5 to 500x200",
        )
        .to_string()),
    }
}
