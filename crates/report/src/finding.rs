//! The finding of an experiment in a sentence, and the names of its cells.

use super::words;
use inkstone_base::bootstrap::{Comparison, Interval};
use inkstone_base::figures::{number, percent, probability, signed};
use inkstone_base::language::Language;
use inkstone_features::experiment::{Cell, Effect, Findings, TRUNCATE, cell_name, short};

/// Decimals of figures and differences.
pub const DECIMALS: usize = 4;

/// Reading of a cell's difference to the baseline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellStanding {
    /// The cell is the baseline.
    Baseline,
    /// Better, and not by chance when it is counted how many cells were compared.
    Above,
    /// Worse than the baseline, not by chance.
    Below,
    /// Chance could have done it, or there is no figure.
    NotShown,
}

/// Reading of a cell's difference to the baseline.
pub fn standing(findings: &Findings, cell: &Cell) -> CellStanding {
    match &cell.against {
        None if is_baseline(findings, cell) => CellStanding::Baseline,
        Some(c) if c.difference.is_finite() && c.p_adjusted <= 1.0 - findings.confidence => {
            if c.difference > 0.0 {
                CellStanding::Above
            } else {
                CellStanding::Below
            }
        }
        _ => CellStanding::NotShown,
    }
}

fn is_baseline(findings: &Findings, cell: &Cell) -> bool {
    baseline(findings).is_some_and(|baseline| std::ptr::eq(baseline, cell))
}

/// The cell that the others are compared with.
pub(crate) fn baseline(findings: &Findings) -> Option<&Cell> {
    findings.cells.get(findings.baseline)
}

/// Names that differ, in the order in which they come first.
pub(crate) fn distinct<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut found: Vec<&str> = Vec::new();
    for name in names {
        if !found.contains(&name) {
            found.push(name);
        }
    }
    found
}

/// The features whose models read.
pub(crate) fn features(findings: &Findings) -> Vec<&str> {
    distinct(findings.cells.iter().map(|cell| cell.feature.as_str()))
}

/// Name of a cell: its settings, and its feature where there are several.
pub fn label(findings: &Findings, cell: &Cell) -> String {
    let one_feature = features(findings).len() == 1 && !cell.setting.is_empty();
    if one_feature { cell.setting.clone() } else { cell_name(&cell.feature, &cell.setting) }
}

/// A value with its setting: `layers=last:4`; a feature or a strategy of truncation alone.
pub fn effect_label(findings: &Findings, effect: &Effect) -> String {
    let varies = findings.vary.contains(&effect.setting) && effect.setting != TRUNCATE;
    match varies {
        true => format!("{}={}", short(&effect.setting, &findings.vary), effect.value),
        false => effect.value.clone(),
    }
}

/// An interval: `[0.0123, 0.0456]`; a dash where there is none.
pub fn interval(interval: Interval) -> String {
    if interval.low.is_finite() && interval.high.is_finite() {
        format!("[{:.DECIMALS$}, {:.DECIMALS$}]", interval.low, interval.high)
    } else {
        "–".to_owned()
    }
}

/// Tokens of a document on average: whole ones, where there are a hundred or more.
pub fn tokens(cell: &Cell) -> String {
    let tokens = cell.cost.tokens_a_document();
    if tokens >= 100.0 { inkstone_base::figures::count(tokens.round() as u64) } else { number(tokens, 1) }
}

/// The finding in one to three sentences. A difference that may be chance is never called one.
pub fn finding(findings: &Findings, language: Language) -> String {
    let zh = language == Language::Zh;
    let there: Vec<&Cell> = findings.cells.iter().filter(|cell| cell.figure.is_finite()).collect();
    let best = there.iter().copied().filter(|c| c.against.is_some()).max_by(|a, b| a.figure.total_cmp(&b.figure));
    let Some(base) = baseline(findings).filter(|_| !there.is_empty()) else {
        return words::NO_FIGURES.to(language).to_owned();
    };
    let Some(best) = best else { return words::NO_DIFFERENCES.to(language).to_owned() };
    let with = |wanted| findings.cells.iter().filter(move |cell| standing(findings, cell) == wanted);
    let (above, below) = (with(CellStanding::Above).count(), with(CellStanding::Below).count());
    let compared = findings.cells.iter().filter(|cell| cell.against.is_some()).count();
    let measure = words::measure(findings, language);
    let name = |cell: &Cell| label(findings, cell);
    let against = |cell: &Cell| difference(cell.against.unwrap_or_default(), language);
    let figure = |cell: &Cell| number(cell.figure, DECIMALS);
    let mut sentences = match with(CellStanding::Above).max_by(|a, b| a.figure.total_cmp(&b.figure)) {
        Some(winner) => {
            let (name, base_name, interval) = (name(winner), name(base), interval(winner.interval));
            let mut sentences = if zh {
                format!(
                    "{name} 优于基线 {base_name}：{measure} {} {interval}（基线 {}），{}，共比较 {compared} 个单元。",
                    figure(winner),
                    figure(base),
                    against(winner),
                )
            } else {
                format!(
                    "{name} is better than the baseline {base_name}: {measure} {} {interval} against {}, {}, of {compared} cells compared.",
                    figure(winner),
                    figure(base),
                    against(winner),
                )
            };
            if best.figure > winner.figure {
                let (name, figure) = (label(findings, best), figure(best));
                sentences += &if zh {
                    format!("数值最高的是 {name}（{figure}），但它与基线之差不能排除偶然。")
                } else {
                    format!(" The highest figure is that of {name} ({figure}), but its difference may be chance.")
                };
            }
            sentences
        }
        None => {
            let (name, base_name) = (name(best), name(base));
            if zh {
                format!(
                    "没有单元被证明优于基线 {base_name}（{measure} {}）：其余中数值最高的是 {name}，{}，{}，共比较 {compared} 个单元。",
                    figure(base),
                    figure(best),
                    against(best),
                )
            } else {
                format!(
                    "No cell is shown to be better than the baseline {base_name} ({measure} {}): the highest of the others is {name} with {}, {}, of {compared} cells compared.",
                    figure(base),
                    figure(best),
                    against(best),
                )
            }
        }
    };
    if above > 1 {
        sentences += &if zh {
            format!("校正后共有 {above} 个单元高于基线。")
        } else {
            format!(" In all, {above} cells stand above the baseline after correction.")
        };
    }
    if below > 0 {
        sentences += &if zh {
            format!("{below} 个单元被证明不如基线。")
        } else {
            format!(" {below} {} shown to be worse than the baseline.", if below == 1 { "is" } else { "are" })
        };
    }
    let in_set = there.iter().filter(|cell| findings.may_be_best(cell)).count();
    if in_set > 0 {
        let (all, sure) = (there.len(), percent(findings.confidence));
        sentences += &if zh {
            format!("以 {sure} 的置信度，{all} 个单元中有 {in_set} 个可能是最好的。")
        } else {
            format!(" With {sure} confidence, {in_set} of {all} cells may be the best.")
        };
    }
    sentences
}

fn difference(comparison: Comparison, language: Language) -> String {
    let (difference, p) = (signed(comparison.difference, DECIMALS), probability(comparison.p_adjusted));
    let interval = interval(comparison.interval);
    match language {
        Language::Zh => format!("差 {difference} {interval}，校正 p {p}"),
        Language::En => format!("a difference of {difference} {interval}, adjusted p {p}"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{cell, findings};
    use super::*;

    #[test]
    fn what_stands_is_told_with_its_numbers() {
        let found = findings();
        let sentences = finding(&found, Language::En);
        assert_eq!(
            sentences,
            "语气 · tail:512 is better than the baseline 语气 · head:512: RankIC 0.0520 [0.0420, 0.0620] against 0.0300, a difference of \
             +0.0220 [0.0120, 0.0320], adjusted p 0.004, of 5 cells compared. 1 is shown to be worse than the baseline."
        );
        let sentences = finding(&found, Language::Zh);
        assert!(
            sentences.starts_with("语气 · tail:512 优于基线 语气 · head:512：RankIC 0.0520")
                && sentences.contains("校正 p 0.004"),
            "{sentences}"
        );
        assert!(sentences.ends_with("1 个单元被证明不如基线。"));
        // The cells that may be the best are counted where that is known.
        let mut found = found;
        found.cells.iter_mut().for_each(|cell| cell.p_best = Some(if cell.figure > 0.03 { 0.4 } else { 0.01 }));
        let sentences = finding(&found, Language::En);
        assert!(sentences.ends_with(" With 95.0 % confidence, 3 of 5 cells may be the best."), "{sentences}");
        assert!(finding(&found, Language::Zh).ends_with("5 个单元中有 3 个可能是最好的。"));
    }

    #[test]
    fn what_may_be_chance_is_told_as_that() {
        let mut found = findings();
        found.cells[2].against.as_mut().unwrap().p_adjusted = 0.051;
        let sentences = finding(&found, Language::En);
        assert!(
            sentences.starts_with("No cell is shown to be better than the baseline 语气 · head:512 (RankIC 0.0300)"),
            "{sentences}"
        );
        assert!(sentences.contains("the highest of the others is 语气 · tail:512 with 0.0520"), "{sentences}");
        // A lower figure that stands comes before a higher one that does not, and the higher one is told too.
        found.cells[1].against.as_mut().unwrap().p_adjusted = 0.01;
        found.cells[1].against.as_mut().unwrap().difference = 0.004;
        let sentences = finding(&found, Language::En);
        assert!(sentences.starts_with("语气 · head:128 is better"), "{sentences}");
        assert!(
            sentences
                .contains("The highest figure is that of 语气 · tail:512 (0.0520), but its difference may be chance."),
            "{sentences}"
        );
    }

    #[test]
    fn nothing_is_said_of_nothing() {
        let mut found = findings();
        assert_eq!(finding(&Findings::default(), Language::En), words::NO_FIGURES.to(Language::En));
        found.cells.iter_mut().for_each(|cell| cell.figure = f64::NAN);
        assert_eq!(finding(&found, Language::Zh), words::NO_FIGURES.to(Language::Zh));
        found.cells = vec![cell("语气", "head:512", 500, 0.03, None)];
        found.baseline = 0;
        assert_eq!(finding(&found, Language::En), words::NO_DIFFERENCES.to(Language::En));
    }

    #[test]
    fn figures_are_written_for_people() {
        assert_eq!([probability(0.0004), probability(0.25), probability(f64::NAN)], ["<0.001", "0.250", "–"]);
        assert_eq!(interval(Interval { low: -0.01, high: f64::NAN }), "–");
        assert_eq!(interval(Interval { low: -0.01, high: 0.02 }), "[-0.0100, 0.0200]");
    }
}
