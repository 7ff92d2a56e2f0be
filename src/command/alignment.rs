//! `explain --alignment`: where a recurrent decoder looked in a text when it wrote each token.

use std::fmt::Write;
use std::process::ExitCode;

use anyhow::{Context, Result};
use serde::Serialize;

use super::models::format_of;
use super::{batch, is_batch};
use crate::cli::{Explain, Global};
use crate::headless::{self, Summary};
use inkstone_base::job::Ctx;
use inkstone_base::language::Word;
use inkstone_base::{ensure, width};
use inkstone_features::models::transformer::{Aligner, Alignment};
use inkstone_features::standalone::{Block, Lines};

/// Bytes of lines read at once.
const BLOCK: usize = 1 << 20;
/// Columns of a cell of the table.
const CELL: usize = 3;
/// Columns of a token of the source.
const LABEL: usize = 10;
/// Shades of shares of at least so much.
const SHADES: [(f32, &str); 4] = [(0.6, "██"), (0.35, "▓▓"), (0.15, "▒▒"), (0.05, "░░")];

/// An attention is a weight in a sum, not a cause.
const NOTE: Word = Word(
    "注意力表明解码器读了哪里，不说明它为何这样写；各列之和为 1",
    "attention shows where the decoder read, not why it wrote what it wrote; each column sums to 1",
);

/// An alignment and whose it is.
#[derive(Serialize)]
struct AlignedDocument {
    id: String,
    #[serde(flatten)]
    alignment: Alignment,
}

/// Prints alignments as JSON, and on a terminal as tables.
pub(super) fn run(args: &Explain, global: &Global) -> Result<ExitCode> {
    let work = |ctx: &Ctx| {
        let aligner = Aligner::open(&args.model)?;
        anyhow::Ok((aligned(args, &aligner, ctx)?, aligner.fitted_until()?))
    };
    if !is_batch(global) {
        let ctx = Ctx::new(global.threads.unwrap_or(0), global.seed.unwrap_or(1))?;
        let (all, _) = work(&ctx)?;
        let tables: Vec<String> =
            all.iter().map(|one| format!("{}\n{}", width::shown(&one.id), table(&one.alignment))).collect();
        headless::print(&format!("{}\n{NOTE}\n", tables.join("\n")))?;
        return Ok(ExitCode::SUCCESS);
    }
    Ok(batch("explain", global, |ctx| {
        let (all, fitted_until) = work(ctx)?;
        let mut summary = Summary::default();
        summary.set("model", "writer");
        summary.set("file", args.model.display().to_string());
        summary.set("fitted_until", fitted_until);
        summary.set("documents", all.len());
        summary.set("note", NOTE.1);
        summary.set("alignments", all);
        Ok(summary)
    }))
}

/// The alignments of the documents that the flags name.
fn aligned(args: &Explain, aligner: &Aligner, ctx: &Ctx) -> Result<Vec<AlignedDocument>> {
    let target = args.target.as_deref();
    let Some(input) = &args.input else {
        let text = args.text.as_deref().context(Word("请给出 --input 或 --text", "give --input or --text"))?;
        return Ok(vec![AlignedDocument { id: "1".to_owned(), alignment: aligner.align(text, target)? }]);
    };
    let mut lines = Lines::open(input, format_of(args.format, Some(input)))?;
    let (mut all, mut block) = (Vec::new(), Block::default());
    while lines.next_block(&mut block, BLOCK)? {
        for line in lines.documents(&block) {
            ctx.check()?;
            if args.ids.is_empty() || args.ids.iter().any(|id| *id == line.name()) {
                let alignment = aligner.align(&line.text, target)?;
                all.push(AlignedDocument { id: line.name().into_owned(), alignment });
            }
        }
    }
    lines.finish()?;
    let missing: Vec<&String> = args.ids.iter().filter(|&id| all.iter().all(|one| one.id != *id)).collect();
    ensure!(
        missing.is_empty(),
        "没有编号为 {missing:?} 的文档；文档编号取字段 id，否则为行号，从 1 起",
        "no document has the id {missing:?}; the id of a document is its field id, or else the number of its line, from 1"
    );
    Ok(all)
}

/// A row a token of the source, a column a token of the target, and shades for shares.
fn table(alignment: &Alignment) -> String {
    let Alignment { source, target, shares, .. } = alignment;
    let label = |token: &String, columns: usize| width::left(&width::shown(token), columns);
    let mut text = " ".repeat(LABEL);
    target.iter().for_each(|token| text += &label(token, CELL));
    text = text.trim_end().to_owned() + "\n";
    for (place, token) in source.iter().enumerate() {
        let mut row = label(token, LABEL);
        for shares in shares {
            let shade = SHADES.iter().find(|(least, _)| shares[place] >= *least).map_or("", |(_, shade)| shade);
            row += &width::left(shade, CELL);
        }
        let _ = writeln!(text, "{}", row.trim_end());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_a_row_a_source_token_and_a_column_a_target_token() {
        let names = |all: &[&str]| all.iter().map(|name| (*name).to_owned()).collect::<Vec<String>>();
        let alignment = Alignment {
            source: names(&["汤姆", "chase", "杰瑞"]),
            target: names(&["Tom", "追"]),
            written: false,
            shares: vec![vec![0.6, 0.2, 0.2], vec![0.01, 0.94, 0.05]],
        };
        let expected = ["          Tom追", "汤姆      ██", "chase     ▒▒ ██", "杰瑞      ▒▒ ░░"];
        assert_eq!(table(&alignment).lines().collect::<Vec<&str>>(), expected);
    }
}
