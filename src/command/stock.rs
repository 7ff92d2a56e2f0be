//! `stock`: the prices of a security, its documents with the returns around them, and a factor's values.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use serde_json::{Value, json};

use super::opened::OpenProject;
use super::project::batch_on;
use super::workbench::picture_of_stock;
use crate::cli::{Global, Stock as Args};
use crate::headless::Summary;
use crate::pipeline::StockReader;
use inkstone_base::ensure;
use inkstone_lab::stock::{AFTER, DayState, Stock, StockDocument};

/// Gives what the page of a stock shows, and draws it where a file is named.
pub(super) fn run(args: &Args, global: &Global) -> Result<ExitCode> {
    let opened = OpenProject::read(&args.project.config, "stock", global);
    Ok(batch_on("stock", opened, |opened, ctx| {
        for (file, ending) in [(&args.svg, "svg"), (&args.png, "png")] {
            let Some(file) = file else { continue };
            ensure!(
                file.extension().is_some_and(|other| other == ending),
                "{}：--{ending} 的文件名须以 .{ending} 结尾",
                "{}: a file of --{ending} has a name that ends in .{ending}",
                file.display()
            );
        }
        let first = opened.config.factor.first().map(|factor| factor.name.as_str());
        let factor = args.factor.as_deref().or(first);
        let stock = StockReader::new(&opened.config, &opened.base).read(&args.code, factor, ctx)?;
        ensure!(
            args.factor.is_none() || stock.factor.is_some(),
            "因子 {0:?} 尚未计算或没有值：请运行 inkstone factor",
            "factor {0:?} is not built yet, or has no values: run inkstone factor",
            factor.unwrap_or_default()
        );
        let mut summary = Summary::default();
        summary.set_note(&opened.config.project.note);
        summary.set("code", &stock.code);
        if !stock.name.is_empty() {
            summary.set("name", &stock.name);
        }
        summary.set("prices", prices(&stock));
        if let Some(factor) = &stock.factor {
            let last = factor.values.iter().rposition(|value| !value.is_nan());
            let latest = last.map(
                |t| json!({"date": stock.dates[t], "value": factor.values[t], "quantile": layer(factor.layers[t])}),
            );
            let days = factor.values.iter().filter(|value| !value.is_nan()).count();
            summary.set("factor", json!({"name": factor.name, "days": days, "latest": latest}));
        }
        let documents: Vec<Value> = stock.documents.iter().map(|each| document(&stock, each)).collect();
        summary.set("documents", documents);
        let files: Vec<&Path> = [&args.svg, &args.png].into_iter().filter_map(|file| file.as_deref()).collect();
        for file in &files {
            picture_of_stock(&opened, (&stock.code, factor), file, global)?;
        }
        if !files.is_empty() {
            summary.set("written", files.iter().map(|file| file.display().to_string()).collect::<Vec<_>>());
        }
        Ok(summary)
    }))
}

/// Figures of the price chart: its first and last day, the last, highest and lowest close, and days by state.
fn prices(stock: &Stock) -> Value {
    let there: Vec<usize> = (0..stock.dates.len()).filter(|t| stock.close[*t].is_finite()).collect();
    let Some((&first, &last)) = there.first().zip(there.last()) else { return Value::Null };
    let extreme = |highest: bool| {
        let by = |a: &&usize, b: &&usize| stock.close[**a].total_cmp(&stock.close[**b]);
        let at = if highest { there.iter().max_by(by) } else { there.iter().min_by(by) };
        at.map(|t| json!({"date": stock.dates[*t], "close": stock.close[*t]}))
    };
    let traded = [DayState::Traded, DayState::UpLimit, DayState::DownLimit].map(|state| stock.days(state));
    json!({
        "from": stock.dates[first],
        "to": stock.dates[last],
        "close": stock.close[last],
        "change": stock.close[last] / stock.close[first] - 1.0,
        "highest": extreme(true),
        "lowest": extreme(false),
        "days_traded": traded.iter().sum::<usize>(),
        "days_suspended": stock.days(DayState::Suspended),
        "days_at_upper_limit": stock.days(DayState::UpLimit),
        "days_at_lower_limit": stock.days(DayState::DownLimit),
    })
}

fn document(stock: &Stock, document: &StockDocument) -> Value {
    let after = AFTER.iter().zip(&document.returns.after).map(|(end, after)| (end.to_string(), number(*after)));
    let mut row = json!({
        "doc_id": document.doc_id,
        "published_at": document.published_at,
        "kind": document.kind,
        "title": document.title,
        "words": document.words,
        "source": document.source,
        "repeats": document.repeats,
        "trade_date": document.day.map(|day| stock.dates[day]),
        "tradable_from": document.tradable,
        "abnormal_return": number(document.returns.day),
        "abnormal_return_after_days": after.collect::<serde_json::Map<String, Value>>(),
    });
    if let Some([before, then]) = stock.factor_around(document) {
        let value = |(value, of): (f64, u16)| json!({"value": number(value), "quantile": layer(of)});
        row["factor_before"] = value(before);
        row["factor"] = value(then);
    }
    row
}

/// Null where there is no number.
fn number(value: f64) -> Value {
    json!(value.is_finite().then_some(value))
}

fn layer(layer: u16) -> Option<u16> {
    (layer > 0).then_some(layer)
}
