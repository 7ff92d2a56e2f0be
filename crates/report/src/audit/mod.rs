//! The audit of a result as a page, as lines and as JSON: what is claimed beside what is honest, and each check with its verdict.

mod sentences;
#[cfg(test)]
mod tests;
mod words;

use serde_json::{Value, json};

use crate::page::{both, both_of, closed, each, opened, pairs, paragraph, section, table, text};
use crate::terminal::{TextTone, wrapped};
use crate::verdict::standing_name;
use inkstone_base::figures::{count, percent, rank_ic, ratio};
use inkstone_base::language::{Language, Word};
use inkstone_base::width::{left, right};
use inkstone_lab::audit::{Audit, AuditFigures, Claim, ResultShape};
use inkstone_lab::lint::Standing;

pub use sentences::{audit_check_name, audit_sentences};

/// A row of the figures: its name, how it is written, and where it is found.
struct FigureRow {
    name: Word,
    written: fn(f64) -> String,
    claimed: fn(&Claim) -> Option<f64>,
    found: fn(&AuditFigures) -> f64,
}

const ROWS: [FigureRow; 11] = [
    FigureRow { name: words::IC, written: rank_ic, claimed: |c| c.ic, found: |f| f.ic },
    FigureRow { name: words::RANK_IC, written: rank_ic, claimed: |c| c.rank_ic, found: |f| f.rank_ic },
    FigureRow { name: words::ICIR, written: ratio, claimed: |c| c.icir, found: |f| f.icir },
    FigureRow { name: words::RANK_ICIR, written: ratio, claimed: |c| c.rank_icir, found: |f| f.rank_icir },
    FigureRow { name: words::T, written: ratio, claimed: |c| c.t, found: |f| f.t },
    FigureRow {
        name: words::ANNUAL_RETURN,
        written: percent,
        claimed: |c| c.annual_return,
        found: |f| f.annual_return,
    },
    FigureRow { name: words::SHARPE, written: ratio, claimed: |c| c.sharpe, found: |f| f.sharpe },
    FigureRow { name: words::MAX_DRAWDOWN, written: percent, claimed: |c| c.max_drawdown, found: |f| f.max_drawdown },
    FigureRow { name: words::TURNOVER, written: percent, claimed: |c| c.turnover, found: |f| f.turnover },
    FigureRow { name: words::EXCESS, written: percent, claimed: |c| c.excess_return, found: |f| f.excess_return },
    FigureRow {
        name: words::INFORMATION_RATIO,
        written: ratio,
        claimed: |c| c.information_ratio,
        found: |f| f.information_ratio,
    },
];

impl FigureRow {
    /// Claimed, of the result's own alignment, honest.
    fn values(&self, audit: &Audit) -> [String; 3] {
        let claimed = (self.claimed)(&audit.claim).map_or("–".to_owned(), self.written);
        [claimed, (self.written)((self.found)(&audit.aligned)), (self.written)((self.found)(&audit.honest))]
    }
}

fn shape_name(shape: ResultShape) -> Word {
    match shape {
        ResultShape::FactorTable => words::FACTOR_TABLE,
        ResultShape::Predictions => words::PREDICTIONS,
        ResultShape::AlphalensFrame => words::ALPHALENS_FRAME,
        ResultShape::QlibRecorder => words::QLIB_RECORDER,
    }
}

/// The verdict of the audit as a whole.
fn conclusion(audit: &Audit) -> [String; 2] {
    let with = |standing| audit.verdicts.iter().filter(move |verdict| verdict.standing == standing);
    let names = |language: Language, separator: &str| {
        let names = with(Standing::Failed).map(|verdict| audit_check_name(verdict.check).to(language));
        names.collect::<Vec<_>>().join(separator)
    };
    let (warned, untested) = (with(Standing::Warned).count(), with(Standing::Skipped).count());
    let counted = |n: usize, word: &str| if n == 1 { format!("1 {word}") } else { format!("{n} {word}s") };
    let rest = format!("{}; {} could not be done.", counted(warned, "warning"), counted(untested, "check"));
    match with(Standing::Failed).count() {
        0 => [
            format!("没有点名任何作弊；{warned} 项留意，{untested} 项未能检查。"),
            format!("No fraud is named; {rest}"),
        ],
        frauds => [
            format!(
                "点名 {frauds} 项：{}；{warned} 项留意，{untested} 项未能检查。诚实的一栏不能去掉数值中已有的未来信息。",
                names(Language::Zh, "、")
            ),
            format!(
                "{} named: {}; {rest} The honest figures cannot take the future out of values that hold it.",
                counted(frauds, "fraud"),
                names(Language::En, ", ")
            ),
        ],
    }
}

/// The page: Chinese and English, no scripts, nothing from elsewhere.
pub fn audit_html(audit: &Audit) -> String {
    let class = if audit.is_fraud() { "finding bad" } else { "finding" };
    let [zh, en] = conclusion(audit);
    let finding = format!(
        "<div class=\"{class}\">{}</div>\n",
        each(|language| format!("<p>{}</p>", text(if language == Language::Zh { &zh } else { &en })))
    );
    let facts = [
        (words::KIND, both(shape_name(audit.shape))),
        (words::COLUMN, text(&audit.column)),
        (words::VALUES, count(audit.values)),
        (words::NAMES, count(audit.names)),
        (words::DATES, text(&format!("{} – {} ({})", audit.first, audit.last, count(audit.dates)))),
    ];
    let row = |row: &FigureRow| {
        let mut cells = vec![format!("<td class=\"text\">{}</td>", both(row.name))];
        cells.extend(row.values(audit).map(|value| format!("<td>{}</td>", text(&value))));
        cells
    };
    let heads = [(words::FIGURE, true), (words::CLAIMED, false), (words::ALIGNED, false), (words::HONEST, false)];
    let figures = table(&heads, &ROWS.iter().map(row).collect::<Vec<_>>(), words::NO_FIGURES)
        + &format!("<p class=\"caption\">{}</p>\n", alignments(audit));
    let check = |verdict: &inkstone_lab::audit::AuditVerdict| {
        let (sign, name) = standing_name(verdict.standing);
        let [zh, en] = audit_sentences(verdict);
        vec![
            format!("<td class=\"text\">{}</td>", both(audit_check_name(verdict.check))),
            format!("<td class=\"text\">{sign} {}</td>", both(name)),
            format!("<td class=\"text wrap\">{}</td>", both_of([&zh, &en])),
        ]
    };
    let checks = table(
        &[(words::CHECK, true), (words::VERDICT, true), (words::EVIDENCE, true)],
        &audit.verdicts.iter().map(check).collect::<Vec<_>>(),
        words::NO_FIGURES,
    );
    let lag = |(days, mean): &(i32, f64)| vec![format!("<td>{days:+}</td>"), format!("<td>{}</td>", rank_ic(*mean))];
    let lags = table(
        &[(words::LAG, false), (words::RANK_IC, false)],
        &audit.lags.iter().map(lag).collect::<Vec<_>>(),
        words::NO_FIGURES,
    );
    let parts = [
        section("finding", words::FINDING, &(finding + &pairs(&facts))),
        section("figures", words::SIDE_BY_SIDE, &figures),
        section("checks", words::CHECKS, &checks),
        section("lags", words::LAGS, &(paragraph(words::LAGS_TEXT) + &lags)),
        section("method", words::METHOD, &paragraph(words::METHOD_TEXT)),
    ];
    opened(&audit.name, words::AUDIT, "") + &parts.concat() + &closed()
}

/// The trades of the columns of figures.
fn alignments(audit: &Audit) -> String {
    let name = |word: Word, trade: &str| format!("{}: {}", both(word), text(trade));
    format!("{}; {}", name(words::ALIGNED, &audit.aligned_trade), name(words::HONEST, &audit.honest_trade))
}

/// Cells of the names and of a figure.
const NAME: usize = 26;
const FIGURE: usize = 14;
/// Cells of a line.
const LINE: usize = 96;

/// The audit as lines of text in one language.
pub fn audit_lines(audit: &Audit, language: Language) -> Vec<String> {
    let say = |word: Word| word.to(language);
    let mut lines = vec![
        format!("{} · {} ({})", say(words::AUDIT), audit.name, say(shape_name(audit.shape))),
        format!(
            "{}: {} · {} – {} · {} {}",
            say(words::COLUMN),
            audit.column,
            audit.first,
            audit.last,
            count(audit.values),
            say(words::VALUES)
        ),
        String::new(),
    ];
    let columns = [words::CLAIMED, words::ALIGNED, words::HONEST].map(|word| right(say(word), FIGURE)).concat();
    lines.push(left(say(words::FIGURE), NAME) + &columns);
    for row in &ROWS {
        lines.push(left(say(row.name), NAME) + &row.values(audit).map(|value| right(&value, FIGURE)).concat());
    }
    lines.push(format!(
        "{}: {}; {}: {}",
        say(words::ALIGNED),
        audit.aligned_trade,
        say(words::HONEST),
        audit.honest_trade
    ));
    lines.push(String::new());
    for verdict in &audit.verdicts {
        let (sign, name) = standing_name(verdict.standing);
        lines.push(format!("{sign} {} · {}", say(audit_check_name(verdict.check)), say(name)));
        let [zh, en] = audit_sentences(verdict);
        let sentences = if language == Language::Zh { zh } else { en };
        lines.extend(wrapped(&sentences, LINE - 4, TextTone::Plain).iter().map(|line| format!("    {line}")));
    }
    let [zh, en] = conclusion(audit);
    lines.push(String::new());
    lines.extend(
        wrapped(if language == Language::Zh { &zh } else { &en }, LINE, TextTone::Plain)
            .iter()
            .map(ToString::to_string),
    );
    lines
}

/// The audit as JSON: its figures, and each verdict with its sentences (Chinese, English).
pub fn audit_json(audit: &Audit) -> Value {
    let mut object = json!(audit);
    let verdict = |verdict: &inkstone_lab::audit::AuditVerdict| {
        json!({
            "check": verdict.check,
            "standing": verdict.standing,
            "case": verdict.case,
            "finding": audit_sentences(verdict),
            "figures": verdict.figures,
        })
    };
    object["verdicts"] = audit.verdicts.iter().map(verdict).collect();
    let named = audit.verdicts.iter().filter(|verdict| verdict.standing == Standing::Failed);
    object["frauds"] = named.map(|verdict| json!(verdict.check)).collect();
    object["lags"] = audit.lags.iter().map(|(days, mean)| json!({"days": days, "rank_ic": mean})).collect();
    object["conclusion"] = json!(conclusion(audit));
    object
}
