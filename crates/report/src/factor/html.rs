//! A factor as one HTML file: Chinese and English, light and dark, no scripts and nothing from elsewhere.

use anyhow::Result;

use super::finding::{Trust, finding, trust};
use super::manifest::manifest;
use super::tables::{self, SectionPart};
use super::{Chart, FactorReport, books, events, evidence, ic, layers, names, tear_sheet, words};
use crate::html::frontier_picture;
use crate::page::{both, both_of, closed, each, each_picture, opened, paragraph, section, text};

use inkstone_base::language::{Language, Word};

/// The whole page of a factor.
pub fn factor_html(page: &FactorReport<'_>) -> Result<String> {
    let chart = |chart| chart_of(page, chart);
    let mut portfolios = vec![chart(&books::PORTFOLIOS)?, tables::books(page)];
    portfolios.extend(tables::portfolio_years(page));
    let long_short = vec![
        chart(&books::LONG_SHORT)?,
        tables::long_short_years(page),
        chart(&books::LEGS)?,
        chart(&books::TURNOVER)?,
    ];
    let months = vec![
        chart(&tear_sheet::MONTHS)?,
        chart(&tear_sheet::YEARS)?,
        tables::drawdowns(page),
        chart(&tear_sheet::ROLLING)?,
    ];
    let mut styles = vec![chart(&tear_sheet::STYLES)?];
    styles.extend(tables::styles(page));
    let layers = vec![chart(&layers::WEALTH)?, chart(&layers::MEANS)?, tables::layers(page)];
    let events = match page.events {
        Some(_) => vec![chart(&events::EVENTS)?, tables::events(page)],
        None => vec![tables::events(page)],
    };
    let figures = |pieces: Vec<SectionPart>| part(page, pieces);
    let parts: Vec<(&str, Word, String)> = vec![
        ("finding", words::FINDING, finding_paragraphs(page)),
        ("headline", words::HEADLINE, figures(vec![tables::headline(page)])),
        ("verdicts", words::VERDICTS, figures(vec![tables::verdicts(page)])),
        ("ic", words::IC, figures(vec![chart(&ic::RANK_IC)?, tables::correlations(page)])),
        ("decay", words::DECAY, figures(vec![chart(&ic::DECAY)?])),
        ("layers", words::LAYERS, figures(layers)),
        ("long-short", words::LONG_SHORT, figures(long_short)),
        ("months", words::MONTHS_AND_DRAWDOWNS, figures(months)),
        ("portfolios", words::PORTFOLIOS, figures(portfolios)),
        ("styles", words::STYLES, figures(styles)),
        ("beside", words::BESIDE, figures(vec![tables::beside(page)])),
        ("samples", words::SAMPLES, figures(vec![chart(&names::SAMPLES)?, tables::samples(page)])),
        ("coverage", words::COVERAGE, figures(vec![chart(&names::COVERAGE)?, tables::stability(page)])),
        ("events", words::EVENTS, figures(events)),
        ("evidence", words::EVIDENCE, figures(vec![evidence::evidence(page)])),
        ("execution", words::EXECUTION, figures(vec![tables::execution(page)])),
        ("refused", words::REFUSED, figures(vec![tables::refused(page)])),
        ("looks", words::LOOKS, figures(vec![tables::looks(page)])),
        ("frontier", words::FRONTIER, frontiers(page)?),
        ("manifest", words::MANIFEST, manifest(page.manifest)?),
        ("method", words::METHOD, paragraph(words::METHOD_TEXT)),
    ];
    let mut html = opened(&page.outcome.factor, words::REPORT, page.note);
    if page.outcome.lookahead {
        html += &shout();
    }
    let link = |(id, title, _): &(&str, Word, String)| format!("<a href=\"#{id}\">{}</a>", both(*title));
    let [zh, en] = Language::ALL.map(|language| words::CONTENTS.to(language));
    let links: Vec<String> = parts.iter().map(link).collect();
    html += &format!("<nav aria-label=\"{zh} / {en}\">{}</nav>\n", links.join("\n"));
    for (id, title, inside) in &parts {
        html += &section(id, *title, inside);
    }
    Ok(html + &closed())
}

/// Says that the factor looks ahead.
fn shout() -> String {
    format!("<p class=\"shout\">{}</p>\n", both(words::LOOKAHEAD))
}

/// Charts and tables of a section, each table with what is to be known of its figures: loudly that they look ahead, if they do, and
/// which return a value is paired with. A part without figures is mentioned once.
fn part(page: &FactorReport<'_>, pieces: Vec<SectionPart>) -> String {
    let alignment = Language::ALL.map(|language| words::alignment(page.outcome, language));
    let caption = match alignment[0].is_empty() {
        true => String::new(),
        false => format!("<p class=\"caption\">{}</p>\n", both_of([&alignment[0], &alignment[1]])),
    };
    let loud = if page.outcome.lookahead { shout() } else { String::new() };
    let (mut html, mut missing) = (String::new(), Vec::new());
    for piece in pieces {
        match piece {
            SectionPart::Chart(chart) => html += &chart,
            SectionPart::Table(table) => html += &[loud.as_str(), &table, &caption].concat(),
            SectionPart::Plain(table) => html += &[loud.as_str(), &table].concat(),
            SectionPart::Nothing(why) if !missing.contains(&why) => {
                html += &paragraph(why);
                missing.push(why);
            }
            SectionPart::Nothing(_) => {}
        }
    }
    html
}

fn finding_paragraphs(page: &FactorReport<'_>) -> String {
    let class = if trust(page) == Trust::None { "finding bad" } else { "finding" };
    let paragraphs = each(|language| {
        finding(page, language).iter().map(|paragraph| format!("<p>{}</p>", text(paragraph))).collect()
    });
    format!("<div class=\"{class}\">{paragraphs}</div>\n")
}

fn chart_of(page: &FactorReport<'_>, chart: &Chart) -> Result<SectionPart> {
    let picture = each_picture(|language| {
        let Some(sheet) = (chart.sheet)(page, language) else { return Ok(None) };
        Ok(Some((sheet.svg(page.outcome.lookahead, false, language)?, sheet.caption(language))))
    })?;
    Ok(picture.map_or(SectionPart::Nothing(chart.none), SectionPart::Chart))
}

fn frontiers(page: &FactorReport<'_>) -> Result<String> {
    if page.experiments.is_empty() {
        return Ok(paragraph(words::NO_EXPERIMENTS));
    }
    let mut pieces = String::new();
    for findings in page.experiments {
        let sentences = each(|language| format!("<p>{}</p>", text(&crate::finding(findings, language))));
        pieces += &format!("<h3>{}</h3>\n{sentences}{}", text(&findings.name), frontier_picture(findings)?);
    }
    Ok(pieces)
}
