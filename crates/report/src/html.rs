//! An experiment as one HTML file: Chinese and English, light and dark, no scripts and nothing from elsewhere.

use anyhow::Result;

use super::finding::{CellStanding, DECIMALS, baseline, finding, interval, label, standing, tokens};
use super::page::{
    both, both_of, closed, each, each_picture, figure, head_of, opened, pairs, paragraph, section, table, table_of,
    text, word, wrapped,
};
use super::{differences_svg, frontier_svg, words};
use inkstone_base::figures::probability;
use inkstone_base::figures::{count, number, percent, signed};
use inkstone_base::language::{Language, Word};
use inkstone_base::terms::term;
use inkstone_corpus::structure::Section;
use inkstone_features::experiment::{Cell, Effect, Findings, TRUNCATE, Target, short};

/// The whole page of an experiment. `note` stands on top, for instance that the data is synthetic; an empty one is left out.
pub fn experiment_html(findings: &Findings, note: &str) -> Result<String> {
    let mut page = opened(&findings.name, words::EXPERIMENT, note);
    let sentences = each(|language| format!("<p class=\"finding\">{}</p>", text(&finding(findings, language))));
    page += &section("finding", words::FINDING, &sentences);
    page += &section("asked", words::ASKED, &asked(findings));
    page += &section("frontier", words::FRONTIER, &frontier_picture(findings)?);
    let differences = each_picture(|language| {
        let svg = differences_svg(findings, language)?;
        Ok(svg.map(|svg| (svg, words::DIFFERENCES_CAPTION.to(language).to_owned())))
    })?;
    let differences = differences.unwrap_or_else(|| paragraph(words::NO_DIFFERENCES));
    page += &section("differences", words::DIFFERENCES, &differences);
    if !findings.effects.is_empty() {
        page += &section("effects", words::EFFECTS, &effects(findings));
    }
    page += &section("cells", words::CELLS, &cells(findings));
    page += &section("kept", words::KEPT, &kept(findings));
    page += &section("overlap", words::OVERLAP, &overlap(findings));
    let dropped: Vec<Vec<String>> = findings
        .dropped
        .iter()
        .map(|(reason, documents)| vec![wrapped(&term(reason)), figure(&count(*documents))])
        .collect();
    let dropped = table(&[(words::REASON, true), (words::COUNT, false)], &dropped, words::NO_DROPPED);
    page += &section("dropped", words::DROPPED, &dropped);
    let skipped: Vec<Vec<String>> = findings
        .skipped
        .iter()
        .map(|cell| vec![word(&cell.feature), word(&cell.setting), wrapped(&cell.reason)])
        .collect();
    let heads = [(words::FEATURE, true), (words::SETTING, true), (words::REASON, true)];
    page += &section("skipped", words::SKIPPED, &table(&heads, &skipped, words::NO_SKIPPED));
    page += &section("method", words::METHOD, &paragraph(words::METHOD_TEXT));
    Ok(page + &closed())
}

/// The frontier with its caption, in both languages.
pub(super) fn frontier_picture(findings: &Findings) -> Result<String> {
    let picture = each_picture(|language| {
        let svg = frontier_svg(findings, language)?;
        Ok(svg.map(|svg| (svg, words::FRONTIER_CAPTION.to(language).to_owned())))
    })?;
    Ok(picture.unwrap_or_else(|| paragraph(words::NO_FIGURES)))
}

/// Questions of the experiment, as pairs of a name and a value.
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
    pairs(&rows)
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
    let mut heads = vec![head_of(&both(words::FEATURE), true)];
    heads.extend(findings.vary.iter().map(|path| head_of(&setting_head(path, findings), true)));
    heads.extend([
        head_of(&both(words::TOKENS), false),
        head_of(&measure, false),
        head_of(&both(words::INTERVAL), false),
        head_of(&both(words::DIFFERENCE), false),
        head_of(&both(words::INTERVAL), false),
    ]);
    heads.extend(
        [words::P, words::P_ADJUSTED, words::P_BEST, words::ON_FRONTIER].map(|word| head_of(&both(word), false)),
    );
    heads.extend(names.iter().map(|name| head_of(&text(further(name)), false)));
    heads.extend([words::SECONDS, words::NOTHING_KEPT].map(|word| head_of(&both(word), false)));
    heads.push(head_of(&both(words::DEVICE), true));
    let rows: Vec<String> = findings.cells.iter().map(|cell| cell_row(findings, cell, &names)).collect();
    let table = table_of(&heads, &rows, words::NO_FIGURES);
    format!("{table}<p class=\"caption\">{}</p>\n", both(words::CELLS_CAPTION))
}

fn cell_row(findings: &Findings, cell: &Cell, names: &[&str]) -> String {
    let standing = standing(findings, cell);
    let class = if standing == CellStanding::Baseline { " class=\"baseline\"" } else { "" };
    let tag = if standing == CellStanding::Baseline {
        format!(" <span class=\"tag\">{}</span>", both(words::BASELINE))
    } else {
        String::new()
    };
    let mut row = format!("<tr{class}><td class=\"text\">{}{tag}</td>", text(&cell.feature));
    row.extend(cell.values.iter().map(|value| word(value)));
    row += &figure(&tokens(cell));
    row += &figure(&number(cell.figure, DECIMALS));
    row += &figure(&interval(cell.interval));
    match &cell.against {
        Some(against) => {
            let class = match standing {
                CellStanding::Above => " class=\"above\"",
                CellStanding::Below => " class=\"below\"",
                _ => "",
            };
            row += &format!("<td{class}>{}</td>", signed(against.difference, DECIMALS));
            row += &figure(&interval(against.interval));
            row += &figure(&probability(against.p));
            row += &figure(&probability(against.p_adjusted));
        }
        None => row += &figure("–").repeat(4),
    }
    let may_be_best = if findings.may_be_best(cell) { " class=\"above\"" } else { "" };
    row += &format!("<td{may_be_best}>{}</td>", cell.p_best.map_or("–".to_owned(), probability));
    row += &if cell.on_frontier { format!("<td>{}</td>", both(words::YES)) } else { figure("") };
    for name in names {
        row += &figure(&cell.figures.get(*name).map_or("–".to_owned(), |value| further_figure(*value)));
    }
    row += &figure(&number(cell.cost.seconds, 1));
    row += &figure(&count(cell.cost.nothing_kept));
    row += &word(&cell.cost.device);
    row + "</tr>\n"
}

/// The head of a setting's column: its short name, and for strategies of truncation what they are.
fn setting_head(path: &str, findings: &Findings) -> String {
    if path == TRUNCATE { both(words::STRATEGY) } else { text(short(path, &findings.vary)) }
}

/// Table of the effect of each value of each setting.
fn effects(findings: &Findings) -> String {
    let measure = both_of(Language::ALL.map(|language| words::measure(findings, language)));
    let mut heads = vec![head_of(&both(words::SETTING), true), head_of(&both(words::VALUE), true)];
    heads.extend([head_of(&both(words::CELL_COUNT), false), head_of(&measure, false)]);
    heads.extend(
        [words::DIFFERENCE, words::INTERVAL, words::P, words::P_ADJUSTED].map(|word| head_of(&both(word), false)),
    );
    let row = |effect: &Effect| {
        let name = match effect.setting.as_str() {
            "feature" => both(words::FEATURE),
            path => setting_head(path, findings),
        };
        let mut row = format!("<tr><td class=\"text\">{name}</td>{}", word(&effect.value));
        row += &figure(&count(effect.cells));
        row += &figure(&number(effect.figure, DECIMALS));
        row += &match &effect.against {
            Some(against) => {
                let stands = against.p_adjusted <= 1.0 - findings.confidence;
                let class = match (stands, against.difference > 0.0) {
                    (true, true) => " class=\"above\"",
                    (true, false) => " class=\"below\"",
                    (false, _) => "",
                };
                format!("<td{class}>{}</td>", signed(against.difference, DECIMALS))
                    + &figure(&interval(against.interval))
                    + &figure(&probability(against.p))
                    + &figure(&probability(against.p_adjusted))
            }
            None => figure("–").repeat(4),
        };
        row + "</tr>\n"
    };
    let rows: Vec<String> = findings.effects.iter().map(row).collect();
    let table = table_of(&heads, &rows, words::NO_FIGURES);
    format!("{table}<p class=\"caption\">{}</p>\n", both(words::EFFECTS_CAPTION))
}

/// Whole numbers without decimals, others with as many as figures have.
fn further_figure(value: f64) -> String {
    if value.is_finite() && value.fract() == 0.0 && value.abs() >= 2.0 {
        number(value, 0)
    } else {
        number(value, DECIMALS)
    }
}

/// Share of each section that each cell keeps.
fn kept(findings: &Findings) -> String {
    let has =
        |section: &Section| findings.cells.iter().any(|cell| cell.kept.iter().any(|share| share.section == *section));
    let sections: Vec<Section> = Section::ALL.into_iter().filter(has).collect();
    let mut heads = vec![head_of(&both(words::FEATURE), true), head_of(&both(words::SETTING), true)];
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
            format!("<tr>{}{}{}</tr>\n", word(&cell.feature), word(&cell.setting), shares.concat())
        })
        .collect();
    let table = table_of(&heads, &rows, words::NO_SHARES);
    format!("{table}<p class=\"caption\">{}</p>\n", both(words::KEPT_CAPTION))
}

fn overlap(findings: &Findings) -> String {
    let overlap = &findings.overlap;
    if overlap.test_documents == 0 {
        return paragraph(words::NO_TEST);
    }
    let rows = [
        (words::TEST_DOCUMENTS, count(overlap.test_documents)),
        (words::EXACT, count(overlap.exact)),
        (words::NEAR, count(overlap.near)),
        (words::SHARE, percent(overlap.share)),
        (words::RULE, both(words::rule(overlap.rule))),
        (words::REMOVED, count(overlap.removed)),
    ];
    pairs(&rows)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{findings, grid, large, single};
    use super::*;

    #[test]
    fn the_page_holds_what_was_asked_and_found() {
        let page = experiment_html(&findings(), "合成数据 <demo>").unwrap();
        for wanted in [
            "合成数据 &lt;demo&gt;",
            "<title>长文 &lt;截断&gt; · 对比实验",
            "语气 &amp; co",
            "语气 · tail:512 优于基线 语气 · head:512",
            "语气 · tail:512 is better than the baseline",
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
    fn a_grid_has_a_column_a_setting_and_what_each_does() {
        let page = experiment_html(&grid(), "").unwrap();
        let section = |id: &str| {
            let from = page.find(&format!("<section id=\"{id}\"")).unwrap_or_else(|| panic!("no section {id}"));
            page[from..].split("</section>").next().unwrap().to_owned()
        };
        insta::assert_snapshot!("grid_sections", [section("finding"), section("effects"), section("cells")].join("\n"));
        assert!(
            !experiment_html(&findings(), "").unwrap().contains("id=\"effects\""),
            "one setting is told by its cells"
        );
    }

    #[test]
    fn the_page_needs_nothing_from_elsewhere() {
        let page = experiment_html(&large(), "").unwrap();
        let without = page.replace("http://www.w3.org/2000/svg", "").replace("http-equiv", "");
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
        for color in [svg::INK, svg::DIM, svg::GRID, svg::BASELINE, svg::ABOVE, svg::BELOW] {
            let rule = format!("svg [stroke=\"#{:02X}{:02X}{:02X}\"]", color.0, color.1, color.2);
            assert!(css.contains(&rule), "{rule}");
        }
    }

    #[test]
    fn tags_are_closed_in_order() {
        for findings in [findings(), large(), single(), grid(), Findings::default()] {
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
