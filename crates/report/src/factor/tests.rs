use serde_json::Value;

use super::testing::Made;
use super::*;
use crate::markup::{texts, within};
use inkstone_lab::backtest::{IcSeries, LongShort, Portfolio};

const NOTHING: &Value = &Value::Null;

fn bare(outcome: &Outcome) -> FactorReport<'_> {
    FactorReport {
        outcome,
        events: None,
        verdicts: &[],
        looks: None,
        beside: None,
        newest: None,
        experiments: &[],
        manifest: NOTHING,
        note: "",
    }
}

/// Fails where a page would send for something, or a browser would have to guess what is closed where.
fn sound(page: &str) {
    let without = page.replace("http://www.w3.org/2000/svg", "").replace("http-equiv", "");
    for word in ["http", "url(", "<script", "src=", "NaN", "inf,"] {
        assert!(
            !without.contains(word),
            "{word} is in the page: {:?}",
            without.find(word).map(|i| &without[i - 80..i + 20])
        );
    }
    let mut open: Vec<&str> = Vec::new();
    for tag in page.split('<').skip(1).map(|rest| rest.split('>').next().unwrap()) {
        let name = tag.trim_start_matches('/').split([' ', '\n', '/']).next().unwrap();
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name), "in {tag:?}");
        } else if !tag.ends_with('/') && !matches!(name, "!doctype" | "meta" | "link" | "input" | "br") {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "{open:?} stays open");
}

#[test]
fn the_page_holds_every_part_in_both_languages() {
    let made = Made::new(520);
    let html = factor_html(&made.page()).unwrap();
    sound(&html);
    for wanted in [
        "<p class=\"note\">合成数据 &lt;demo&gt;</p>",
        "<title>语气 &lt;tone&gt; · 因子研究报告 · Factor report</title>",
        "方向为负",
        "The sign is negative",
        "在 t+1 日 09:15 之前可知",
        "known before 09:15 of day t+1",
        "食品&lt;饮料&gt;",
        "多头：买不进",
        "something &lt;new&gt;",
        "BMP, standardised cross-section",
        "new &lt;test&gt;",
        "1,204 values were refused",
        "<dd>-30.0 %</dd>",
        "<b>✓</b>",
        "<b>!</b>",
        "backtest.horizons",
        "limits.2.limit",
        "&quot;note&quot;: &quot;&lt;&amp;&gt;&quot;",
        "20-day momentum",
        "a style &lt;of later&gt;",
        "剔除风格与行业后",
        "first day",
        "best 50",
        "前 50 只",
        "<a href=\"#long-short\">",
        "182,345,678",
    ] {
        assert!(html.contains(wanted), "{wanted} is not in the page");
    }
    assert!(!html.contains(words::LOOKAHEAD.to(Language::En)) && !html.contains("<tone>"));
    // Fifteen charts and a frontier, in two languages.
    assert_eq!(html.matches("<svg ").count(), 32);
    assert_eq!(html, factor_html(&made.page()).unwrap());
    for language in ["<div lang=\"zh-CN\">", "<div lang=\"en\">"] {
        assert_eq!(html.matches(language).count(), html.matches("<div lang=\"zh-CN\">").count());
    }
}

#[test]
fn charts_stand_alone_with_title_unit_and_alignment() {
    let made = Made::new(520);
    for language in Language::ALL {
        let charts = factor_charts(&made.page(), language).unwrap();
        let stems: Vec<&str> = charts.iter().map(|(stem, _)| stem.as_str()).collect();
        assert_eq!(stems.len(), 16);
        assert_eq!((stems[0], stems[15]), ("rank_ic", "frontier_1"));
        for (stem, svg) in &charts[..15] {
            within(stem, svg);
            let message = texts(svg).concat();
            let alignment = match stem.as_str() {
                "events" => words::expected(&made.events, language),
                _ => words::alignment(made.page().outcome, language),
            };
            assert!(message.contains("语气 <tone> · "), "{stem} has no title");
            assert!(
                message.replace(' ', "").contains(&alignment.replace(' ', "")),
                "{stem} says no alignment: {message}"
            );
        }
        assert_eq!(charts, factor_charts(&made.page(), language).unwrap());
    }
}

#[test]
fn a_factor_that_looks_ahead_says_so_on_every_chart_and_table() {
    let mut made = Made::new(60);
    made.outcome.lookahead = true;
    let page = made.page();
    for language in Language::ALL {
        for (stem, svg) in &factor_charts(&page, language).unwrap()[..11] {
            within(stem, svg);
            assert!(texts(svg).iter().any(|text| text == words::LOOKAHEAD.to(language)), "{stem}");
        }
    }
    let html = factor_html(&page).unwrap();
    sound(&html);
    assert!(html.find("class=\"shout\"") < html.find("<nav"), "it is the first thing shown");
    let end = html.find("id=\"frontier\"").unwrap();
    for (at, _) in html.match_indices("<table>").filter(|(at, _)| *at < end) {
        let [section, shout] = ["<section", "class=\"shout\""].map(|what| html[..at].rfind(what).unwrap());
        assert!(section < shout, "a table has no warning in its section");
    }
    assert!(html.contains("【未来函数】") && html.contains("LOOK-AHEAD: values known only at or after 09:15"));
    assert!(html.contains("class=\"finding bad\"") && html.contains("no judgement of the factor"));
}

#[test]
fn nothing_is_drawn_of_nothing_and_every_gap_is_named() {
    let empty = Outcome::default();
    let page = bare(&empty);
    assert!(factor_charts(&page, Language::Zh).unwrap().is_empty());
    let html = factor_html(&page).unwrap();
    sound(&html);
    assert!(!html.contains("<svg "));
    for none in [
        words::NO_IC,
        words::NO_DECAY,
        words::NO_LAYERS,
        words::NO_BOOK,
        words::NO_PORTFOLIOS,
        words::NO_SAMPLES,
        words::NO_COVERAGE,
        words::NO_EVENTS,
        words::NO_EVIDENCE,
        words::NO_REFUSED,
        words::NO_VERDICTS,
        words::NO_LOOKS,
        words::NO_EXPERIMENTS,
        words::NO_MANIFEST,
        words::NO_CAPACITY,
    ] {
        for language in Language::ALL {
            assert!(html.contains(&crate::page::text(none.to(language))), "{} is not shown", none.1);
        }
    }
}

#[test]
fn one_date_makes_a_page() {
    let made = Made::new(1);
    let html = factor_html(&made.page()).unwrap();
    sound(&html);
    for (stem, svg) in factor_charts(&made.page(), Language::En).unwrap() {
        if !stem.starts_with("frontier") {
            within(&stem, &svg);
        }
    }
}

#[test]
fn what_is_not_a_number_leaves_no_trace() {
    let mut made = Made::new(40);
    let outcome = &mut made.outcome;
    let nan = |values: &mut Vec<f64>| values.iter_mut().for_each(|v| *v = f64::NAN);
    for series in &mut outcome.ic {
        nan(&mut series.rank_ic);
        series.rank_ic_summary.mean = f64::NAN;
    }
    nan(&mut outcome.decay.rank_ic);
    outcome.decay.half_life = f64::NAN;
    outcome.layers.wealth.iter_mut().for_each(nan);
    outcome.layers.mean.iter_mut().for_each(nan);
    outcome.long_short.total = Default::default();
    nan(&mut outcome.long_short.net);
    nan(&mut outcome.long_short.turnover);
    outcome.samples.iter_mut().flat_map(|s| &mut s.rank_ic).for_each(|s| s.mean = f64::INFINITY);
    outcome.portfolios.iter_mut().for_each(|book| nan(&mut book.excess));
    let styles = outcome.styles.as_mut().unwrap();
    styles.styles.iter_mut().for_each(|style| (style.correlation, style.top) = (f64::NAN, f64::NAN));
    styles.residual.mean = f64::NAN;
    made.events.groups.iter_mut().for_each(|group| nan(&mut group.cumulative));
    made.looks = Looks { overfitting: f64::NAN, deflated_sharpe: f64::NAN, q: f64::NAN, ..made.looks };
    made.verdicts[0].number = Some(f64::NAN);
    sound(&factor_html(&made.page()).unwrap());
    let charts = factor_charts(&made.page(), Language::Zh).unwrap();
    let stems: Vec<&str> = charts.iter().map(|(stem, _)| stem.as_str()).collect();
    assert_eq!(stems, ["long_short", "legs", "portfolios", "coverage", "frontier_1"]);
    charts[..4].iter().for_each(|(stem, svg)| within(stem, svg));
}

#[test]
fn series_of_unequal_lengths_do_no_harm() {
    let mut made = Made::new(30);
    made.outcome.layers.stderr.clear();
    made.outcome.layers.wealth.truncate(1);
    made.outcome.ic.push(IcSeries { horizon: 60, ..IcSeries::default() });
    made.outcome.portfolios.push(Portfolio { name: "empty".to_owned(), ..Portfolio::default() });
    made.outcome.long_short = LongShort { dates: made.outcome.long_short.dates.clone(), ..LongShort::default() };
    made.events.groups[0].margin.clear();
    sound(&factor_html(&made.page()).unwrap());
    for (stem, svg) in factor_charts(&made.page(), Language::En).unwrap() {
        if !stem.starts_with("frontier") {
            within(&stem, &svg);
        }
    }
}

#[test]
fn ten_years_of_days_stay_a_page_that_can_be_mailed() {
    let made = Made::new(2420);
    let html = factor_html(&made.page()).unwrap();
    sound(&html);
    assert!(html.len() < 1_500_000, "{} bytes", html.len());
    let (_, svg) = &factor_charts(&made.page(), Language::En).unwrap()[2];
    let longest = svg.split("points=\"").skip(1).map(|rest| rest.split('"').next().unwrap().split(' ').count());
    assert!(longest.max().unwrap() < 450);
}

#[test]
fn a_long_list_of_the_manifest_is_cut_and_the_page_says_so() {
    let page = |files: usize| {
        let files: Vec<_> = (0..files).map(|n| serde_json::json!({"path": format!("{n}.bin"), "bytes": 8})).collect();
        super::manifest::manifest(&serde_json::json!({"seed": 1, "files": files})).unwrap()
    };
    let (small, large) = (page(100), page(20_000));
    assert!(small.contains("99.bin") && !small.contains("manifest.json"));
    assert!(large.contains("(40000)") && large.contains("manifest.json") && !large.contains("200.bin"));
    assert!(large.len() < 3 * small.len(), "{} and {} bytes", large.len(), small.len());
}

#[test]
fn documents_stand_behind_the_values_of_either_end() {
    let made = Made::new(60);
    let page = factor_html(&made.page()).unwrap();
    let section = page.split("<section id=\"evidence\"").nth(1).unwrap().split("</section>").next().unwrap();
    let listed = |k: usize| section.contains(&format!("公司{k}公告"));
    // Five of either end; the eighth of fourteen has no document.
    let expected: Vec<bool> = (0..14).map(|k| !(5..9).contains(&k)).collect();
    assert_eq!((0..14).map(listed).collect::<Vec<_>>(), expected, "{section}");
    assert!(section.contains("inkstone trace tone --date 2022-03-01 --code 600000"), "{section}");

    let mut few = made.newest.clone();
    few.names.truncate(7);
    few.names.iter_mut().for_each(|name| name.quantile = 0);
    let page = factor_html(&FactorReport { newest: Some(&few), ..made.page() }).unwrap();
    for k in 0..7 {
        assert_eq!(page.matches(&format!("公司{k}公告")).count(), 1, "a name is listed once");
    }
    let section = page.split("<section id=\"evidence\"").nth(1).unwrap().split("</section>").next().unwrap();
    assert_eq!(section.matches("<td>–</td>").count(), 7, "a date without layers: {section}");
}
