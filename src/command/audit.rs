//! `audit`: what of anybody's result holds, as lines on a terminal, else as a JSON object; a page on request.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};

use super::opened::language;
use super::staged::counted;
use super::{batch, is_batch, or_explain};
use crate::cli::{Audit as Args, Global};
use crate::config::LanguageSetting;
use crate::headless::Summary;
use inkstone_base::disk::{self, Room};
use inkstone_base::ensure;
use inkstone_base::job::Ctx;
use inkstone_base::width::shown;
use inkstone_lab::audit::{self, Audit, AuditInput, AuditedTable, Claim};
use inkstone_market::Market;
use inkstone_report::{audit_html, audit_json, audit_lines};

/// Checks of an audit.
const CHECKS: u64 = 16;
/// Tables of other results that are read from a folder.
const MOST_OTHERS: usize = 1_000;

/// Audits a result. The exit code is 1 if a fraud is named.
pub(super) fn run(args: &Args, global: &Global) -> ExitCode {
    if is_batch(global) || args.json {
        return batch("audit", global, |ctx| {
            let audit = audited(args, ctx)?;
            let mut summary = Summary { partial: audit.is_fraud(), ..Summary::default() };
            if let serde_json::Value::Object(fields) = audit_json(&audit) {
                summary.fields = fields;
            }
            if let Some(out) = &args.out {
                summary.set("report", out.join("audit.html").display().to_string());
            }
            Ok(summary)
        });
    }
    or_explain((|| {
        let ctx = Ctx::new(global.threads.unwrap_or(0), global.seed.unwrap_or(1))?;
        let audit = audited(args, &ctx)?;
        let mut out = std::io::stdout().lock();
        for line in audit_lines(&audit, language(LanguageSetting::Auto, global.lang.as_deref())?) {
            writeln!(out, "{}", shown(&line))?;
        }
        if let Some(folder) = &args.out {
            writeln!(out, "{}", shown(&folder.join("audit.html").display().to_string()))?;
        }
        Ok(ExitCode::from(u8::from(audit.is_fraud())))
    })())
}

fn audited(args: &Args, ctx: &Ctx) -> Result<Audit> {
    if let Some(out) = &args.out {
        disk::is_ours(out, Room::Reports)?;
    }
    let mut claim = match (&args.claim, &args.claimed) {
        (Some(text), _) => Claim::parse(text)?,
        (None, Some(path)) => Claim::read(path)?,
        (None, None) => Claim::default(),
    };
    let mut others = Vec::new();
    if let Some(tried) = &args.tried {
        match tried.parse::<u64>() {
            Ok(trials) => {
                ensure!(
                    trials > 0,
                    "--tried 为 0；结果本身也算一次，请至少写 1",
                    "--tried is 0; the result itself counts, so write at least 1"
                );
                claim.trials = Some(trials);
            }
            Err(_) => others = tables_in(Path::new(tried), &args.result)?,
        }
    }
    let market = Market::read(&args.prices, &[])?;
    let table = AuditedTable::read(&args.result, args.score.as_deref())?;
    let earlier = args.earlier.as_deref().map(|path| AuditedTable::read(path, args.score.as_deref())).transpose()?;
    let documents = args.documents.as_deref().map(audit::read_documents).transpose()?;
    let input = AuditInput {
        claim: claim.or(table.claim.clone()),
        table: &table,
        market: &market,
        documents: documents.as_ref().map(|(times, _)| times.as_slice()),
        earlier: earlier.as_ref(),
        others: &others,
    };
    let (audit, _) = counted(ctx, ("audit", "checks", Some(CHECKS)), || audit::run(&input, ctx))?;
    if let Some(out) = &args.out {
        disk::own_folder(out, Room::Reports)?;
        let bytes = serde_json::to_vec_pretty(&audit_json(&audit))?;
        disk::write_atomic(&out.join("audit.json"), |file| Ok(file.write_all(&bytes)?))?;
        disk::write_atomic(&out.join("audit.html"), |file| Ok(file.write_all(audit_html(&audit).as_bytes())?))?;
    }
    Ok(audit)
}

/// The tables of a folder but the audited one, by name.
fn tables_in(folder: &Path, result: &Path) -> Result<Vec<AuditedTable>> {
    ensure!(
        folder.is_dir(),
        "--tried：{} 既不是数字也不是文件夹",
        "--tried: {} is neither a number nor a folder",
        folder.display()
    );
    let mut paths = Vec::new();
    for extension in ["csv", "parquet", "pkl"] {
        paths.extend(disk::files_in(folder, extension)?);
    }
    let own = result.canonicalize().ok();
    paths.retain(|path| path.canonicalize().ok() != own);
    paths.sort();
    ensure!(
        !paths.is_empty(),
        "--tried：{} 没有其他表（CSV、Parquet 或 pickle）",
        "--tried: {} holds no other table (CSV, Parquet or a pickle)",
        folder.display()
    );
    ensure!(
        paths.len() <= MOST_OTHERS,
        "--tried：{} 有 {} 个表；最多读取 {MOST_OTHERS} 个，请直接给出个数",
        "--tried: {} holds {} tables; at most {MOST_OTHERS} are read, so give their number",
        folder.display(),
        paths.len()
    );
    paths.iter().map(|path| AuditedTable::read(path, None).context("--tried")).collect()
}
