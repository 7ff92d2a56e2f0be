//! An experiment as one HTML file: Chinese and English, light and dark, no scripts and nothing from elsewhere.
//!
//! Both languages are in the file; two buttons choose by style alone which one is shown. Browsers that know no `:has` show both.

use std::fmt::Write;

use anyhow::Result;

use super::finding::{DECIMALS, Standing, baseline, finding, interval, label, probability, standing, tokens};
use super::svg::printable;
use super::{differences_svg, frontier_svg, words};
use crate::experiment::{Cell, Findings, Target};
use crate::figures::{count, number, percent, signed};
use crate::language::{Language, Word};
use crate::structure::Section;

/// The whole page of an experiment. `note` is said on top, for instance that the data is synthetic; an empty one is left out.
pub fn experiment_html(findings: &Findings, note: &str) -> Result<String> {
    let name = text(&findings.name);
    let [zh, en] = Language::ALL.map(|language| words::EXPERIMENT.to(language));
    let mut page = format!(
        "<!doctype html>\n<html lang=\"zh-CN\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{name} · {zh} · {en}</title>\n\
         <link rel=\"icon\" href=\"data:,\">\n<style>\n{}</style>\n</head>\n<body>\n",
        include_str!("page.css")
    );
    write!(
        page,
        "<div class=\"switch\" role=\"group\" aria-label=\"{} / {}\">\
         <input type=\"radio\" name=\"language\" id=\"zh\" checked><label for=\"zh\" lang=\"zh-CN\">中文</label>\
         <input type=\"radio\" name=\"language\" id=\"en\"><label for=\"en\" lang=\"en\">English</label></div>\n<header>\n",
        words::SWITCH.to(Language::Zh),
        words::SWITCH.to(Language::En)
    )?;
    if !note.trim().is_empty() {
        writeln!(page, "<p class=\"note\">{}</p>", text(note))?;
    }
    writeln!(page, "<h1>{} · {name}</h1>\n</header>\n<main>", both(words::EXPERIMENT))?;
    section(
        &mut page,
        words::FINDING,
        &each(|language| format!("<p class=\"finding\">{}</p>", text(&finding(findings, language)))),
    );
    section(&mut page, words::ASKED, &asked(findings));
    let frontier =
        each_picture(|language| frontier_svg(findings, language), words::FRONTIER_CAPTION, words::NO_FIGURES)?;
    section(&mut page, words::FRONTIER, &frontier);
    let differences = each_picture(
        |language| differences_svg(findings, language),
        words::DIFFERENCES_CAPTION,
        words::NO_DIFFERENCES,
    )?;
    section(&mut page, words::DIFFERENCES, &differences);
    section(&mut page, words::CELLS, &cells(findings));
    section(&mut page, words::KEPT, &kept(findings));
    section(&mut page, words::OVERLAP, &overlap(findings));
    let dropped: Vec<Vec<String>> =
        findings.dropped.iter().map(|(reason, documents)| vec![wrapped(reason), figure(&count(*documents))]).collect();
    let dropped = table(&[(words::REASON, true), (words::COUNT, false)], &dropped, words::NO_DROPPED);
    section(&mut page, words::DROPPED, &dropped);
    let skipped: Vec<Vec<String>> = findings
        .skipped
        .iter()
        .map(|cell| vec![word(&cell.feature), word(&cell.strategy), wrapped(&cell.reason)])
        .collect();
    let heads = [(words::FEATURE, true), (words::STRATEGY, true), (words::REASON, true)];
    section(&mut page, words::SKIPPED, &table(&heads, &skipped, words::NO_SKIPPED));
    section(&mut page, words::METHOD, &format!("<p>{}</p>\n", both(words::METHOD_TEXT)));
    writeln!(page, "</main>\n<footer>Inkstone {}</footer>\n</body>\n</html>", env!("CARGO_PKG_VERSION"))?;
    Ok(page)
}

/// A text that is safe between tags and in attributes.
fn text(text: &str) -> String {
    html_escape::encode_safe(&printable(text)).into_owned()
}

fn code(language: Language) -> &'static str {
    match language {
        Language::Zh => "zh-CN",
        Language::En => "en",
    }
}

/// A word in both languages, of which one is shown.
fn both(word: Word) -> String {
    Language::ALL
        .map(|language| format!("<span lang=\"{}\">{}</span>", code(language), text(word.to(language))))
        .concat()
}

/// A piece of the page in both languages.
fn each(piece: impl Fn(Language) -> String) -> String {
    Language::ALL.map(|language| format!("<div lang=\"{}\">{}</div>\n", code(language), piece(language))).concat()
}

fn each_picture(draw: impl Fn(Language) -> Result<Option<String>>, caption: Word, none: Word) -> Result<String> {
    let mut pieces = String::new();
    for language in Language::ALL {
        let piece = match draw(language)? {
            Some(svg) => format!(
                "<figure><div class=\"wide\" tabindex=\"0\">{svg}</div><figcaption>{}</figcaption></figure>",
                text(caption.to(language))
            ),
            None => format!("<p>{}</p>", text(none.to(language))),
        };
        writeln!(pieces, "<div lang=\"{}\">{piece}</div>", code(language))?;
    }
    Ok(pieces)
}

fn section(page: &mut String, title: Word, inside: &str) {
    page.push_str(&format!("<section>\n<h2>{}</h2>\n{inside}</section>\n", both(title)));
}

/// What was asked, as pairs of a name and a value.
fn asked(findings: &Findings) -> String {
    let mut rows: Vec<(Word, String)> = vec![(words::TARGET, both(words::target(findings.target)))];
    let measure = Language::ALL.map(|language| words::measure(findings, language));
    rows.push((words::MEASURE, both_of(measure)));
    if findings.target == Target::Factor {
        match &findings.factor {
            Some((factor, horizon)) => {
                let rules = if factor.is_empty() { both(words::DEFAULT_RULES) } else { text(factor) };
                rows.push((words::FACTOR, rules));
                rows.push((words::HORIZON, count(*horizon as u64)));
            }
            None => rows.push((words::FACTOR, both(words::DEFAULT_RULES))),
        }
    }
    if !findings.classes.is_empty() {
        let classes: Vec<String> =
            findings.classes.iter().map(|(class, n)| format!("{} {}", text(class), count(*n))).collect();
        rows.push((words::CLASSES, classes.join(" · ")));
    }
    rows.push((words::DOCUMENTS, count(findings.documents)));
    let observations =
        if findings.target == Target::Factor { words::OBSERVATIONS_DATES } else { words::OBSERVATIONS_DOCUMENTS };
    rows.push((observations, count(findings.observations)));
    rows.push((words::BLOCK, count(findings.block as u64)));
    rows.push((words::DRAWS, count(findings.draws as u64)));
    rows.push((words::CONFIDENCE, percent(findings.confidence)));
    rows.push((words::TRIED, count(findings.cells.len() as u64)));
    if let Some(cell) = baseline(findings) {
        rows.push((words::BASELINE, text(&label(findings, cell))));
    }
    let rows: Vec<String> =
        rows.into_iter().map(|(name, value)| format!("<div><dt>{}</dt><dd>{value}</dd></div>\n", both(name))).collect();
    format!("<dl>\n{}</dl>\n", rows.concat())
}

fn both_of([zh, en]: [&str; 2]) -> String {
    if zh == en {
        text(zh)
    } else {
        format!("<span lang=\"zh-CN\">{}</span><span lang=\"en\">{}</span>", text(zh), text(en))
    }
}

fn word(value: &str) -> String {
    format!("<td class=\"text\">{}</td>", text(value))
}

fn wrapped(value: &str) -> String {
    format!("<td class=\"text wrap\">{}</td>", text(value))
}

fn figure(value: &str) -> String {
    format!("<td>{}</td>", text(value))
}

/// A table of ready fields; heads say whether their column is text. Where there are no rows, what that means is said instead.
fn table(heads: &[(Word, bool)], rows: &[Vec<String>], none: Word) -> String {
    let heads: Vec<String> = heads.iter().map(|(head, is_text)| head_of(&both(*head), *is_text)).collect();
    table_of(&heads, &rows.iter().map(|row| format!("<tr>{}</tr>\n", row.concat())).collect::<Vec<_>>(), none)
}

fn head_of(inside: &str, is_text: bool) -> String {
    let class = if is_text { " class=\"text\"" } else { "" };
    format!("<th scope=\"col\"{class}>{inside}</th>")
}

fn table_of(heads: &[String], rows: &[String], none: Word) -> String {
    if rows.is_empty() {
        return format!("<p>{}</p>\n", both(none));
    }
    format!(
        "<div class=\"wide\" tabindex=\"0\"><table>\n<thead><tr>{}</tr></thead>\n<tbody>\n{}</tbody>\n</table></div>\n",
        heads.concat(),
        rows.concat()
    )
}

/// Names of further figures as the field writes them; others stand as they are.
fn further(name: &str) -> &str {
    match name {
        "ic" => "IC",
        "icir" => "ICIR",
        "rank_ic" => "RankIC",
        "rank_ic_t" => "t(NW)",
        "auc" => "AUC",
        "log_loss" => "log loss",
        other => other,
    }
}

/// The table of all cells, in the order of the grid.
fn cells(findings: &Findings) -> String {
    let mut names: Vec<&str> = findings.cells.iter().flat_map(|cell| cell.figures.keys().map(String::as_str)).collect();
    names.sort_unstable();
    names.dedup();
    let measure = both_of(Language::ALL.map(|language| words::measure(findings, language)));
    let mut heads = vec![
        head_of(&both(words::FEATURE), true),
        head_of(&both(words::STRATEGY), true),
        head_of(&both(words::TOKENS), false),
        head_of(&measure, false),
        head_of(&both(words::INTERVAL), false),
        head_of(&both(words::DIFFERENCE), false),
        head_of(&both(words::INTERVAL), false),
    ];
    heads.extend([words::P, words::P_ADJUSTED, words::ON_FRONTIER].map(|word| head_of(&both(word), false)));
    heads.extend(names.iter().map(|name| head_of(&text(further(name)), false)));
    heads.extend([words::SECONDS, words::NOTHING_KEPT].map(|word| head_of(&both(word), false)));
    heads.push(head_of(&both(words::DEVICE), true));
    let rows: Vec<String> = findings.cells.iter().map(|cell| cell_row(findings, cell, &names)).collect();
    let table = table_of(&heads, &rows, words::NO_FIGURES);
    format!("{table}<p class=\"caption\">{}</p>\n", both(words::CELLS_CAPTION))
}

fn cell_row(findings: &Findings, cell: &Cell, names: &[&str]) -> String {
    let standing = standing(findings, cell);
    let class = if standing == Standing::Baseline { " class=\"baseline\"" } else { "" };
    let mut row = format!("<tr{class}>{}", word(&cell.feature));
    let tag = if standing == Standing::Baseline {
        format!(" <span class=\"tag\">{}</span>", both(words::BASELINE))
    } else {
        String::new()
    };
    row += &format!("<td class=\"text\">{}{tag}</td>", text(&cell.strategy.to_string()));
    row += &figure(&tokens(cell));
    row += &figure(&number(cell.figure, DECIMALS));
    row += &figure(&interval(cell.interval));
    match &cell.against {
        Some(against) => {
            let class = match standing {
                Standing::Above => " class=\"above\"",
                Standing::Below => " class=\"below\"",
                _ => "",
            };
            row += &format!("<td{class}>{}</td>", signed(against.difference, DECIMALS));
            row += &figure(&interval(against.interval));
            row += &figure(&probability(against.p));
            row += &figure(&probability(against.p_adjusted));
        }
        None => row += &figure("–").repeat(4),
    }
    row += &if cell.on_frontier { format!("<td>{}</td>", both(words::YES)) } else { figure("") };
    for name in names {
        row += &figure(&cell.figures.get(*name).map_or("–".to_owned(), |value| further_figure(*value)));
    }
    row += &figure(&number(cell.cost.seconds, 1));
    row += &figure(&count(cell.cost.nothing_kept));
    row += &word(&cell.cost.device);
    row + "</tr>\n"
}

/// Whole numbers without decimals, others with as many as figures have.
fn further_figure(value: f64) -> String {
    if value.is_finite() && value.fract() == 0.0 && value.abs() >= 2.0 {
        number(value, 0)
    } else {
        number(value, DECIMALS)
    }
}

/// How much of each section each cell keeps.
fn kept(findings: &Findings) -> String {
    let has =
        |section: &Section| findings.cells.iter().any(|cell| cell.kept.iter().any(|share| share.section == *section));
    let sections: Vec<Section> = Section::ALL.into_iter().filter(has).collect();
    let mut heads = vec![head_of(&both(words::FEATURE), true), head_of(&both(words::STRATEGY), true)];
    heads.extend(sections.iter().map(|section| head_of(&both(words::section(*section)), false)));
    let rows: Vec<String> = findings
        .cells
        .iter()
        .filter(|cell| !cell.kept.is_empty())
        .map(|cell| {
            let share = |section: &Section| match cell.kept.iter().find(|share| share.section == *section) {
                Some(share) if share.tokens > 0 => {
                    let percent = 100.0 * share.kept as f64 / share.tokens as f64;
                    format!("<td class=\"share\" style=\"--share:{percent:.1}%\">{percent:.0} %</td>")
                }
                _ => figure("–"),
            };
            let shares: Vec<String> = sections.iter().map(share).collect();
            format!("<tr>{}{}{}</tr>\n", word(&cell.feature), word(&cell.strategy.to_string()), shares.concat())
        })
        .collect();
    let table = table_of(&heads, &rows, words::NO_SHARES);
    format!("{table}<p class=\"caption\">{}</p>\n", both(words::KEPT_CAPTION))
}

fn overlap(findings: &Findings) -> String {
    let overlap = &findings.overlap;
    if overlap.test_documents == 0 {
        return format!("<p>{}</p>\n", both(words::NO_TEST));
    }
    let rows = [
        (words::TEST_DOCUMENTS, count(overlap.test_documents)),
        (words::EXACT, count(overlap.exact)),
        (words::NEAR, count(overlap.near)),
        (words::SHARE, percent(overlap.share)),
        (words::RULE, both(words::rule(overlap.rule))),
        (words::REMOVED, count(overlap.removed)),
    ];
    let rows = rows.map(|(name, value)| format!("<div><dt>{}</dt><dd>{value}</dd></div>\n", both(name)));
    format!("<dl>\n{}</dl>\n", rows.concat())
}

#[cfg(test)]
mod tests {
    use super::super::testing::{findings, large, single};
    use super::*;

    #[test]
    fn the_page_holds_what_was_asked_and_found() {
        let page = experiment_html(&findings(), "合成数据 <demo>").unwrap();
        for wanted in [
            "合成数据 &lt;demo&gt;",
            "<title>长文 &lt;截断&gt; · 截断实验",
            "语气 &amp; co",
            "tail:512 · 语气 优于基线 head:512 · 语气",
            "tail:512 · 语气 is better than the baseline",
            "<td class=\"above\">+0.0220</td>",
            "<td class=\"below\">-0.0200</td>",
            "<td>[0.0420, 0.0620]</td>",
            "style=\"--share:22.5%\">22 %</td>",
            "empty &lt;body&gt;",
            "a text of 900 tokens &amp; more than 512 positions",
            "<dd>1.5 %</dd>",
            "ICIR",
            "<td>240</td>",
        ] {
            assert!(page.contains(wanted), "{wanted} is not in the page");
        }
        assert!(!page.contains("<demo>") && !page.contains("bert<&>") && !page.contains("NaN"));
        assert_eq!(page, experiment_html(&findings(), "合成数据 <demo>").unwrap());
        assert_eq!(page.matches("<svg").count(), 4, "two charts in two languages");
    }

    #[test]
    fn the_page_needs_nothing_from_elsewhere() {
        let page = experiment_html(&large(), "").unwrap();
        let without = page.replace("http://www.w3.org/2000/svg", "");
        assert!(
            !without.contains("http")
                && !without.contains("url(")
                && !without.contains("<script")
                && !without.contains("src=")
        );
        assert!(!page.contains("class=\"note\""));
        assert_eq!(page.matches("<tr class=\"baseline\">").count(), 1);
        assert!(page.contains("买入 700 · 中性 300") || page.contains("中性 300 · 买入 700"));
    }

    #[test]
    fn every_colour_of_a_chart_has_one_for_dark_screens_or_is_a_series() {
        let css = include_str!("page.css");
        use super::super::svg;
        for color in [svg::PAPER, svg::INK, svg::DIM, svg::BASELINE, svg::ABOVE, svg::BELOW, svg::NOT_SHOWN] {
            let rule = format!("svg [fill=\"#{:02X}{:02X}{:02X}\"]", color.0, color.1, color.2);
            assert!(css.contains(&rule), "{rule}");
        }
        for color in [svg::INK, svg::DIM, svg::GRID, svg::BASELINE] {
            let rule = format!("svg [stroke=\"#{:02X}{:02X}{:02X}\"]", color.0, color.1, color.2);
            assert!(css.contains(&rule), "{rule}");
        }
    }

    #[test]
    fn tags_are_closed_in_order() {
        for findings in [findings(), large(), single(), Findings::default()] {
            let page = experiment_html(&findings, "note").unwrap();
            let mut open: Vec<&str> = Vec::new();
            for tag in page.split('<').skip(1).map(|rest| rest.split('>').next().unwrap()) {
                let name = tag.trim_start_matches('/').split([' ', '\n', '/']).next().unwrap();
                if tag.starts_with('/') {
                    assert_eq!(open.pop(), Some(name), "in {tag:?}");
                } else if !tag.ends_with('/') && !matches!(name, "!doctype" | "meta" | "link" | "input") {
                    open.push(name);
                }
            }
            assert!(open.is_empty(), "{open:?} stays open");
        }
    }
}
