//! Qlib's binary provider folder, readable by `qlib.init(provider_uri=...)`.
//!
//! `calendars/day.txt`: a date a line. `instruments/all.txt`: `SH600000 \t first day \t last day`.
//! `features/sh600000/FACTOR.day.bin`: little-endian f32; the first is the line number (from 0) in the calendar of the
//! second, and then a value for each day on, NaN where there is none. Qlib looks names up in lower case, and a factor
//! `tone-30d` is its `$tone_30d`.

use std::io::Write;

use anyhow::Result;

use super::CodeStyle;
use super::folder::Folder;
use super::shapes::ExportGrid;
use inkstone_base::bail;
use inkstone_base::job::Ctx;

pub(super) fn write(folder: &mut Folder, grid: &ExportGrid<'_>, ctx: &Ctx) -> Result<()> {
    let dates = grid.dates();
    let fields = fields(grid.names())?;
    folder.file("qlib_bin/calendars/day.txt", dates.len() as u64, |out| {
        dates.iter().try_for_each(|date| Ok(writeln!(out, "{date}")?))
    })?;
    let mut instruments = Vec::new();
    for (code, i) in grid.written_codes(CodeStyle::Qlib) {
        let mut life: Option<(usize, usize)> = None;
        for (f, field) in fields.iter().enumerate() {
            let has = |t: &usize| !grid.at(f, *t, i).is_nan();
            let (Some(first), Some(last)) = ((0..dates.len()).find(has), (0..dates.len()).rfind(has)) else {
                continue;
            };
            let path = format!("qlib_bin/features/{}/{field}.day.bin", folder_of(&code));
            folder.file(&path, (last - first + 1) as u64, |out| {
                write_bin(out, first, (first..=last).map(|t| grid.at(f, t, i) as f32))
            })?;
            life = Some(life.map_or((first, last), |(a, b)| (a.min(first), b.max(last))));
            ctx.advance(1)?;
        }
        if let Some((first, last)) = life {
            instruments.push(format!("{code}\t{}\t{}", dates[first], dates[last]));
        }
    }
    folder.file("qlib_bin/instruments/all.txt", instruments.len() as u64, |out| {
        instruments.iter().try_for_each(|line| Ok(writeln!(out, "{line}")?))
    })
}

/// The folder of a code. Qlib keeps clear of the names that are devices on Windows, as do some tickers (`CON`).
fn folder_of(code: &str) -> String {
    let numbered =
        |device: &str| code.strip_prefix(device).is_some_and(|n| n.len() == 1 && n.as_bytes()[0].is_ascii_digit());
    let device = ["CON", "PRN", "AUX", "NUL"].contains(&code) || numbered("COM") || numbered("LPT");
    format!("{}{}", if device { "_qlib_" } else { "" }, code.to_lowercase())
}

/// The field of each factor. In an expression `$name` ends at a sign that is no letter, digit or `_`, so such a sign
/// becomes `_`.
fn fields(names: &[&str]) -> Result<Vec<String>> {
    let plain = |c: char| if c.is_alphanumeric() { c } else { '_' };
    let fields: Vec<String> = names.iter().map(|name| name.to_lowercase().chars().map(plain).collect()).collect();
    for (i, field) in fields.iter().enumerate() {
        if let Some(j) = fields[..i].iter().position(|other| other == field) {
            bail!(
                "Qlib 把因子 {:?} 和 {:?} 都视为 ${field}；请在 [[factor]] 中给一个改名，或从 [export] shapes 去掉 qlib_bin",
                "Qlib knows the factors {:?} and {:?} both as ${field}; rename one in [[factor]], or leave qlib_bin out of [export] shapes",
                names[j],
                names[i]
            );
        }
    }
    Ok(fields)
}

fn write_bin(out: &mut impl Write, start: usize, values: impl Iterator<Item = f32>) -> Result<()> {
    out.write_all(&(start as f32).to_le_bytes())?;
    for value in values {
        out.write_all(&value.to_le_bytes())?;
    }
    Ok(())
}
