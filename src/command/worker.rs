//! `worker`: a fixed model on rows that come through a pipe.

use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};

use super::files::is_closed_pipe;
use crate::cli::{Global, Worker};
use inkstone_base::job::Ctx;
use inkstone_features::models;
use inkstone_features::models::onnx::Contextual;
use inkstone_features::standalone::{FrameMapper, NightWatch, map_arrow, map_tsv};

/// Maps stdin to stdout. Lines that cannot be used are named on stderr and do not change the exit code, which engines take for a failure of
/// the whole query.
pub(super) fn run(args: &Worker, global: &Global) -> Result<ExitCode> {
    let ctx = Ctx::new(global.threads.unwrap_or(0), global.seed.unwrap_or(1))?;
    let using = Contextual { encoder: args.encoder.clone(), ..args.onnx.contextual() };
    let (model, _) = models::open_with(&args.model, None, None, Path::new(""), &using, &ctx)?;
    let mut mapper =
        FrameMapper::new(model.into(), args.fitted_until, "--fitted-until", NightWatch::new(args.allow_night))
            .with_context(|| format!("{}", args.model.display()))?;
    let (input, output) = (std::io::stdin().lock(), BufWriter::new(std::io::stdout().lock()));
    let columns = args.columns();
    let mapped = match args.tsv.as_slice() {
        [] => map_arrow(&mut mapper, &columns, input, output, &ctx),
        names => map_tsv(&mut mapper, &columns, names, input, output, &ctx),
    };
    let report = match mapped {
        // Who reads no further wants no more.
        Err(error) if is_closed_pipe(&error) => return Ok(ExitCode::SUCCESS),
        mapped => mapped?,
    };
    for (reason, count) in &report.dropped {
        let _ = writeln!(std::io::stderr(), "{count} lines: {reason}");
    }
    Ok(ExitCode::SUCCESS)
}
