//! The tables of the report: figures by horizon, layer, portfolio, year, sample and event, and what was ordered and refused.

use super::finding::first;
use super::{FactorReport, names, words};
use crate::DECIMALS;
use crate::page::{both, both_of, each, figure, head_of, pairs, paragraph, table, table_of, text, word, wrapped};
use crate::verdict::{check_name, standing_name, verdict_sentences};
use inkstone_base::figures::{count, number, percent, probability, rank_ic, ratio, signed};
use inkstone_base::language::{Language, Word};
use inkstone_base::stats::mean;
use inkstone_base::terms::term;
use inkstone_lab::backtest;
use inkstone_lab::backtest::{Drawdown, IcSummary, IndustryExposure, LayerReturns, PortfolioFigures, StyleExposure};
use inkstone_lab::ledger::Looks;
use inkstone_lab::lint::{Standing, Verdict};

/// Falls that are listed.
const DRAWDOWNS: usize = 5;

/// Part of a section: figures, or why there are none.
pub(super) enum SectionPart {
    /// A chart, which says itself whether the factor looks ahead.
    Chart(String),
    /// A table or pairs of names and figures of returns that values are paired with.
    Table(String),
    /// A table or pairs of others, which say themselves what they rest on.
    Plain(String),
    /// There is nothing to show.
    Nothing(Word),
}

/// A table of ready fields, or why there is none.
fn listed(heads: &[(Word, bool)], rows: &[Vec<String>], none: Word) -> SectionPart {
    if rows.is_empty() { SectionPart::Nothing(none) } else { SectionPart::Table(table(heads, rows, none)) }
}

/// A field in words that depend on the language.
fn field<S: AsRef<str>>(say: impl Fn(Language) -> S) -> String {
    let [zh, en] = Language::ALL.map(say);
    format!("<td class=\"text\">{}</td>", both_of([zh.as_ref(), en.as_ref()]))
}

/// The figures that are looked for first.
pub(super) fn headline(page: &FactorReport<'_>) -> SectionPart {
    let outcome = page.outcome;
    let mut rows: Vec<(Word, String)> = Vec::new();
    if let Some((horizon, summary)) = first(page) {
        let horizon = Language::ALL.map(|language| words::days(horizon, language));
        rows.push((words::HORIZON, both_of([&horizon[0], &horizon[1]])));
        rows.push((words::MEAN_RANK_IC, rank_ic(summary.mean)));
        rows.push((words::ICIR, ratio(summary.icir)));
        rows.push((words::T_NW, ratio(summary.t_nw)));
        rows.push((words::P, text(&probability(summary.p))));
        rows.push((words::POSITIVE, percent(summary.positive)));
        rows.push((words::DATES, count(summary.n as u64)));
    }
    let total = &outcome.long_short.total;
    if !outcome.long_short.dates.is_empty() {
        rows.push((words::ANNUAL_RETURN, percent(total.annual_return)));
        rows.push((words::SHARPE, ratio(total.sharpe)));
        rows.push((words::MAX_DRAWDOWN, percent(total.max_drawdown)));
        rows.push((words::COST, format!("{} %", number(100.0 * outcome.long_short.mean_cost(), 3))));
        rows.push((words::TURNOVER, percent(outcome.long_short.mean_turnover())));
    }
    rows.push((words::MEAN_COVERAGE, percent(outcome.coverage.mean_share())));
    if let Some(looks) = page.looks {
        rows.push((words::TRIALS, count(looks.trials)));
        rows.push((words::DSR, text(&probability(looks.deflated_sharpe))));
        rows.push((words::PBO, percent(looks.overfitting)));
        rows.push((words::Q, text(&probability(looks.q))));
    }
    let (sign, lint) = linted(page);
    rows.push((words::LINT, format!("{sign} {}", both(lint))));
    rows.push((words::DAYS_PER_YEAR, count(u64::from(outcome.days_per_year))));
    SectionPart::Table(pairs(&rows))
}

/// Sign and name of the worst standing.
fn linted(page: &FactorReport<'_>) -> (&'static str, Word) {
    let has = |standing| page.verdicts.iter().any(|verdict| verdict.standing == standing);
    let worst = [Standing::Failed, Standing::Warned, Standing::Passed].into_iter().find(|standing| has(*standing));
    standing_name(worst.unwrap_or(Standing::Skipped))
}

/// Moments and tests of both coefficients at each horizon.
pub(super) fn correlations(page: &FactorReport<'_>) -> SectionPart {
    let row = |horizon: usize, kind: Word, s: &IcSummary| {
        let mut row =
            vec![field(|language| words::days(horizon, language)), format!("<td class=\"text\">{}</td>", both(kind))];
        row.push(figure(&signed(s.mean, DECIMALS)));
        row.push(figure(&number(s.std, DECIMALS)));
        row.extend([number(s.icir, 3), number(s.t, 2), number(s.t_nw, 2), probability(s.p)].map(|v| figure(&v)));
        row.extend([percent(s.positive), number(s.skew, 2), number(s.kurtosis, 2)].map(|v| figure(&v)));
        row.push(figure(&count(s.n as u64)));
        row
    };
    let both_kinds = |series: &inkstone_lab::backtest::IcSeries| {
        [
            row(series.horizon, words::SPEARMAN, &series.rank_ic_summary),
            row(series.horizon, words::PEARSON, &series.ic_summary),
        ]
    };
    let rows: Vec<Vec<String>> = page.outcome.ic.iter().flat_map(both_kinds).collect();
    let heads = [
        (words::HORIZON, true),
        (words::KIND, true),
        (words::MEAN, false),
        (words::STD, false),
        (words::ICIR, false),
        (words::T, false),
        (words::T_NW, false),
        (words::P, false),
        (words::POSITIVE, false),
        (words::SKEW, false),
        (words::KURTOSIS, false),
        (words::DATES, false),
    ];
    listed(&heads, &rows, words::NO_IC)
}

/// Mean returns of the layers with their standard errors, a column per horizon, and the top less the bottom.
pub(super) fn layers(page: &FactorReport<'_>) -> SectionPart {
    let layers = page.outcome.layers.by_horizon();
    let quantiles = layers.iter().map(|(_, returns)| returns.mean.len()).max().unwrap_or(0);
    if quantiles == 0 {
        return SectionPart::Nothing(words::NO_LAYERS);
    }
    let mut heads = vec![head_of(&both(words::QUANTILE), true)];
    for (horizon, _) in layers.iter() {
        let named = Language::ALL.map(|l| format!("{} · {}", words::RETURN_UNIT.to(l), words::days(horizon, l)));
        heads.push(head_of(&both_of([&named[0], &named[1]]), false));
        heads.push(head_of(&both(words::STANDARD_ERROR), false));
    }
    let shown = |value: Option<f64>| number(100.0 * value.unwrap_or(f64::NAN), 3);
    let mut rows: Vec<String> = (0..quantiles)
        .map(|q| {
            let name = field(|language| words::layer(q + 1, quantiles, language));
            let pair = |(_, returns): (usize, &LayerReturns<'_>)| {
                [returns.mean, returns.stderr].map(|values| figure(&shown(values.get(q).copied())))
            };
            format!("<tr>{name}{}</tr>\n", layers.iter().flat_map(pair).collect::<String>())
        })
        .collect();
    let spread = |(_, returns): (usize, &LayerReturns<'_>)| {
        let spread = mean(returns.spread.iter().copied());
        [figure(&shown(Some(spread))), figure("")].concat()
    };
    let spreads: String = layers.iter().map(spread).collect();
    let name = both(words::SPREAD);
    rows.push(format!("<tr class=\"baseline\"><td class=\"text\">{name}</td>{spreads}</tr>\n"));
    SectionPart::Table(table_of(&heads, &rows, words::NO_LAYERS))
}

fn book_figures(f: &PortfolioFigures) -> Vec<String> {
    let shown = [percent(f.annual_return), percent(f.volatility), number(f.sharpe, 2)];
    let rest = [percent(f.max_drawdown), number(f.calmar, 2), percent(f.hit_rate)];
    shown.into_iter().chain(rest).map(|value| figure(&value)).collect()
}

const BOOK_HEADS: [(Word, bool); 6] = [
    (words::ANNUAL_RETURN, false),
    (words::VOLATILITY, false),
    (words::SHARPE, false),
    (words::MAX_DRAWDOWN, false),
    (words::CALMAR, false),
    (words::HIT_RATE, false),
];

/// Figures of every portfolio over all dates: after costs, and less the benchmark.
pub(super) fn books(page: &FactorReport<'_>) -> SectionPart {
    let outcome = page.outcome;
    let kind = |word: Word| format!("<td class=\"text\">{}</td>", both(word));
    let mut rows = Vec::new();
    let mut push = |name: String, returns: Word, figures: &PortfolioFigures, turnover: f64| {
        let mut row = vec![name, kind(returns)];
        row.extend(book_figures(figures));
        row.push(figure(&percent(turnover)));
        rows.push(row);
    };
    let average = |turnover: &[f64]| mean(turnover.iter().copied());
    if !outcome.long_short.dates.is_empty() {
        let book = &outcome.long_short;
        push(field(|l| words::LONG_SHORT_NAME.to(l)), words::AFTER_COSTS, &book.total, book.mean_turnover());
    }
    for book in &outcome.portfolios {
        let name = || field(|language| words::portfolio(&book.name, language));
        push(name(), words::AFTER_COSTS, &book.total, average(&book.turnover));
        if let Some(excess) = &book.excess_total {
            push(name(), words::EXCESS_KIND, excess, f64::NAN);
        }
    }
    if let Some(benchmark) = &outcome.benchmark {
        let name = field(|language| words::benchmark(&benchmark.name, language).to_owned());
        push(name, words::BENCHMARK, &benchmark.total, f64::NAN);
    }
    let mut heads = vec![(words::BOOK, true), (words::KIND, true)];
    heads.extend(BOOK_HEADS);
    heads.push((words::TURNOVER, false));
    listed(&heads, &rows, words::NO_BOOK)
}

fn by_year(years: &[inkstone_lab::backtest::YearFigures]) -> SectionPart {
    let row = |year: &inkstone_lab::backtest::YearFigures| {
        [vec![word(&year.year.to_string())], book_figures(&year.figures)].concat()
    };
    let mut heads = vec![(words::YEAR, true)];
    heads.extend(BOOK_HEADS);
    listed(&heads, &years.iter().map(row).collect::<Vec<_>>(), words::NO_YEARS)
}

/// Figures of the long-short portfolio after costs by calendar year.
pub(super) fn long_short_years(page: &FactorReport<'_>) -> SectionPart {
    by_year(&page.outcome.long_short.by_year)
}

/// The deepest falls of the long-short portfolio after costs.
pub(super) fn drawdowns(page: &FactorReport<'_>) -> SectionPart {
    let book = &page.outcome.long_short;
    let row = |fall: &Drawdown| {
        let last = fall.last.map_or_else(|| field(|l| words::NOT_RECOVERED.to(l)), |last| word(&last.to_string()));
        let mut row = vec![figure(&percent(fall.depth))];
        row.extend([fall.first, fall.lowest].map(|date| word(&date.to_string())));
        row.extend([last, figure(&count(fall.days as u64))]);
        row
    };
    let rows: Vec<Vec<String>> = backtest::drawdowns(&book.dates, &book.net, DRAWDOWNS).iter().map(row).collect();
    let heads = [
        (words::DEPTH, false),
        (words::FIRST_DAY_BELOW, true),
        (words::LOWEST_DAY, true),
        (words::LAST_DAY_BELOW, true),
        (words::DAYS_BELOW, false),
    ];
    listed(&heads, &rows, words::NO_DRAWDOWNS)
}

/// The factor beside the other factors, and what it adds to them.
pub(super) fn beside(page: &FactorReport<'_>) -> SectionPart {
    let Some(beside) = page.beside else { return SectionPart::Nothing(words::NO_OTHER_FACTORS) };
    let row = |(name, correlation): &(String, f64)| vec![word(name), figure(&signed(*correlation, 3))];
    let rows: Vec<Vec<String>> = beside.correlations.iter().map(row).collect();
    let heads = [(words::OTHER_FACTOR, true), (words::RANK_CORRELATION, false)];
    let correlations = table(&heads, &rows, words::NO_OTHER_FACTORS);
    let rows = [left(words::WITH_STYLES, &beside.rank_ic), left(words::WITHOUT_OTHERS, &beside.adds)];
    SectionPart::Table(correlations + &table(&WHAT_IS_LEFT, &rows, words::NO_OTHER_FACTORS))
}

/// A RankIC with its significance, of a factor or of what is left of it.
fn left(kind: Word, s: &IcSummary) -> Vec<String> {
    vec![
        field(|l| kind.to(l)),
        figure(&signed(s.mean, DECIMALS)),
        figure(&number(s.icir, 3)),
        figure(&number(s.t_nw, 2)),
        figure(&probability(s.p)),
        figure(&count(s.n as u64)),
    ]
}

const WHAT_IS_LEFT: [(Word, bool); 6] = [
    (words::KIND, true),
    (words::MEAN_RANK_IC, false),
    (words::ICIR, false),
    (words::T_NW, false),
    (words::P, false),
    (words::DATES, false),
];

/// The factor beside styles, what is left of it, and industries.
pub(super) fn styles(page: &FactorReport<'_>) -> Vec<SectionPart> {
    let Some(styles) = &page.outcome.styles else { return Vec::new() };
    let row = |style: &StyleExposure| {
        let mut row = vec![field(|l| words::style_name(&style.name, l))];
        row.extend([style.correlation, style.bottom, style.top].map(|value| figure(&signed(value, 3))));
        row
    };
    let rows: Vec<Vec<String>> = styles.styles.iter().map(row).collect();
    let heads = [
        (words::STYLE, true),
        (words::RANK_CORRELATION, false),
        (words::BOTTOM_IN_STYLE, false),
        (words::TOP_IN_STYLE, false),
    ];
    let mut parts = vec![listed(&heads, &rows, words::NO_STYLES)];
    let rows = [left(words::WITH_STYLES, &styles.rank_ic), left(words::WITHOUT_STYLES, &styles.residual)];
    parts.push(listed(&WHAT_IS_LEFT, &rows, words::NO_STYLES));
    let row = |industry: &IndustryExposure| {
        let shares = [industry.share, industry.top, industry.top - industry.share];
        let mut row = vec![word(&industry.name)];
        row.extend(shares[..2].iter().map(|share| figure(&percent(*share))));
        row.push(figure(&signed(100.0 * shares[2], 2)));
        row
    };
    let mut industries: Vec<&IndustryExposure> = styles.industries.iter().filter(|i| i.share > 0.0).collect();
    industries.sort_by(|a, b| (b.top - b.share).total_cmp(&(a.top - a.share)));
    let rows: Vec<Vec<String>> = industries.into_iter().map(row).collect();
    let heads = [
        (words::INDUSTRY, true),
        (words::SHARE_OF_NAMES, false),
        (words::SHARE_OF_TOP, false),
        (words::MORE_IN_TOP, false),
    ];
    if !rows.is_empty() {
        parts.push(listed(&heads, &rows, words::NO_STYLES));
    }
    parts
}

/// Figures of the other portfolios by year, a folded table each; none without portfolios.
pub(super) fn portfolio_years(page: &FactorReport<'_>) -> Option<SectionPart> {
    let folded = |book: &inkstone_lab::backtest::Portfolio| {
        let SectionPart::Table(table) = by_year(&book.by_year) else { return None };
        let name = Language::ALL
            .map(|language| format!("{} · {}", words::portfolio(&book.name, language), words::BY_YEAR.to(language)));
        let name = both_of([&name[0], &name[1]]);
        Some(format!("<details><summary>{name}</summary>\n{table}</details>\n"))
    };
    let tables: String = page.outcome.portfolios.iter().filter_map(folded).collect();
    (!tables.is_empty()).then_some(SectionPart::Table(tables))
}

/// RankIC and spread among some of the names, a row per sample and horizon.
pub(super) fn samples(page: &FactorReport<'_>) -> SectionPart {
    let outcome = page.outcome;
    let mut rows = Vec::new();
    for sample in outcome.samples.iter().filter(|sample| names::has_dates(sample)) {
        for (horizon, (summary, spread)) in outcome.sample_by_horizon(sample).iter() {
            let ends = names::interval(summary);
            let interval = match ends.iter().all(|end| end.is_finite()) {
                true => format!("[{:.DECIMALS$}, {:.DECIMALS$}]", ends[0], ends[1]),
                false => "–".to_owned(),
            };
            let mut row = vec![field(|l| words::sample(&sample.by, l).to_owned())];
            row.push(field(|l| words::sample(&sample.group, l).to_owned()));
            row.push(field(|l| words::days(horizon, l)));
            row.push(figure(&number(sample.names, 1)));
            row.push(figure(&signed(summary.mean, DECIMALS)));
            row.extend([interval, number(summary.t_nw, 2), probability(summary.p)].map(|v| figure(&v)));
            row.push(figure(&number(100.0 * spread, 3)));
            row.push(figure(&count(summary.n as u64)));
            rows.push(row);
        }
    }
    let heads = [
        (words::SAMPLE, true),
        (words::GROUP, true),
        (words::HORIZON, true),
        (words::NAMES, false),
        (words::MEAN_RANK_IC, false),
        (words::INTERVAL, false),
        (words::T_NW, false),
        (words::P, false),
        (words::SPREAD_UNIT, false),
        (words::DATES, false),
    ];
    listed(&heads, &rows, words::NO_SAMPLES)
}

/// Persistence of ranks and layers.
pub(super) fn stability(page: &FactorReport<'_>) -> SectionPart {
    let row = |stability: &inkstone_lab::backtest::Stability| {
        let end = |value: Option<&f64>| figure(&percent(value.copied().unwrap_or(f64::NAN)));
        vec![
            word(&stability.period.to_string()),
            end(stability.turnover.first()),
            end(stability.turnover.last()),
            figure(&number(stability.rank_autocorrelation, 3)),
        ]
    };
    let rows: Vec<Vec<String>> = page.outcome.stability.iter().map(row).collect();
    let heads = [
        (words::PERIOD, true),
        (words::NEW_AT_BOTTOM, false),
        (words::NEW_AT_TOP, false),
        (words::AUTOCORRELATION, false),
    ];
    listed(&heads, &rows, words::NO_STABILITY)
}

/// Orders, filled orders, reasons for the others, and capacity.
pub(super) fn execution(page: &FactorReport<'_>) -> SectionPart {
    let (execution, capacity) = (&page.outcome.execution, &page.outcome.capacity);
    let filled = match execution.orders {
        0 => count(execution.filled),
        orders => format!("{} ({})", count(execution.filled), percent(execution.filled as f64 / orders as f64)),
    };
    let mut rows = vec![(words::ORDERS, count(execution.orders)), (words::FILLED, filled)];
    rows.push((words::DELISTED, count(execution.delisted)));
    rows.push((words::DELISTING_RETURN, percent(execution.delisting_return)));
    match execution.capital {
        Some(capital) => {
            rows.push((words::CAPITAL, yuan(capital)));
            rows.push((words::IDLE, percent(execution.idle)));
        }
        None => rows.push((words::CAPITAL, both(words::SHARES_OF_CAPITAL))),
    }
    let executed = pairs(&rows);
    let blocked: Vec<Vec<String>> = page
        .outcome
        .untradable
        .iter()
        .map(|(reason, n)| vec![field(|language| words::blocked(reason, language)), figure(&count(*n))])
        .collect();
    let blocked = table(&[(words::NOT_FILLED, true), (words::COUNT, false)], &blocked, words::NO_BLOCKED);
    let capacity = if capacity.days > 0 && capacity.median.is_finite() {
        pairs(&[
            (words::CAPACITY_SHARE, percent(capacity.share)),
            (words::CAPACITY_MEDIAN, yuan(capacity.median)),
            (words::CAPACITY_LOW, yuan(capacity.low)),
            (words::CAPACITY_DAYS, count(capacity.days as u64)),
        ])
    } else {
        paragraph(words::NO_CAPACITY)
    };
    SectionPart::Plain(format!("{executed}{blocked}{capacity}"))
}

/// An amount of money in whole CNY.
fn yuan(amount: f64) -> String {
    if amount.is_finite() && amount >= 0.0 { count(amount.round() as u64) } else { number(amount, 0) }
}

/// Values that were not known in time, with a few of them.
pub(super) fn refused(page: &FactorReport<'_>) -> SectionPart {
    let refused = &page.outcome.refused;
    if refused.values == 0 {
        return SectionPart::Nothing(words::NO_REFUSED);
    }
    let row = |(date, code, known, began): &(_, String, _, _)| {
        let (date, known, began): (&chrono::NaiveDate, &chrono::NaiveDateTime, &chrono::NaiveDateTime) =
            (date, known, began);
        let time = |time: &chrono::NaiveDateTime| word(&time.format("%Y-%m-%d %H:%M:%S").to_string());
        vec![word(&date.to_string()), word(code), time(known), time(began)]
    };
    let rows: Vec<Vec<String>> = refused.examples.iter().map(row).collect();
    let heads = [(words::DATE, true), (words::CODE, true), (words::KNOWN, true), (words::BEGAN, true)];
    let total = each(|language| {
        let n = count(refused.values);
        match (language, page.outcome.lookahead) {
            (Language::Zh, false) => format!("<p>共拒绝 {n} 个值，例如：</p>"),
            (Language::En, false) => format!("<p>{n} values were refused, for instance:</p>"),
            (Language::Zh, true) => format!("<p>共 {n} 个值不该用而用了，例如：</p>"),
            (Language::En, true) => format!("<p>{n} values should have been refused and were used, for instance:</p>"),
        }
    });
    SectionPart::Plain(total + &table(&heads, &rows, words::NO_EXAMPLES))
}

/// Significance of the result after all trials.
pub(super) fn looks(page: &FactorReport<'_>) -> SectionPart {
    let Some(looks) = page.looks else { return SectionPart::Nothing(words::NO_LOOKS) };
    let Looks { trials, runs, deleted, sharpe, expected_best, .. } = looks;
    SectionPart::Table(pairs(&[
        (words::TRIALS, count(*trials)),
        (words::RUNS, count(*runs)),
        (words::DELETED, count(*deleted)),
        (words::SHARPE, number(*sharpe, 2)),
        (words::EXPECTED_BEST, number(*expected_best, 2)),
        (words::PSR, text(&probability(looks.probabilistic_sharpe))),
        (words::DSR, text(&probability(looks.deflated_sharpe))),
        (words::PBO, percent(looks.overfitting)),
        (words::P, text(&probability(looks.p))),
        (words::Q, text(&probability(looks.q))),
    ]))
}

/// The verdicts of the linter, the worst first, each with a sign beside its colour.
pub(super) fn verdicts(page: &FactorReport<'_>) -> SectionPart {
    let mut verdicts: Vec<_> = page.verdicts.iter().collect();
    let rank = |standing| match standing {
        Standing::Failed => 0,
        Standing::Warned => 1,
        Standing::Passed => 2,
        Standing::Skipped => 3,
    };
    verdicts.sort_by_key(|verdict| (rank(verdict.standing), verdict.check));
    let shown = |value: Option<f64>| figure(&value.map_or("–".to_owned(), quantity));
    let row = |verdict: &&Verdict| {
        let (sign, standing) = standing_name(verdict.standing);
        let class = ["failed", "warned", "passed", "skipped"][rank(verdict.standing)];
        let [zh, en] = verdict_sentences(verdict);
        let finding = both_of([&zh, &en]);
        let figures: Vec<String> = verdict
            .figures()
            .iter()
            .map(|(key, value)| format!("{}: {}", text(key), text(&value.to_string())))
            .collect();
        let further = if figures.is_empty() {
            String::new()
        } else {
            format!("<details><summary>{}</summary>{}</details>", both(words::FURTHER), figures.join("<br>"))
        };
        let (standing, check) = (both(standing), both(check_name(verdict.check)));
        let field = format!("<td class=\"text wrap\">{finding}{further}</td>");
        let fields = [shown(verdict.number), shown(verdict.limit)].concat();
        format!(
            "<tr class=\"{class}\"><td class=\"text standing\"><b>{sign}</b> {standing}</td><td class=\"text\">{check}</td>{field}{fields}</tr>\n"
        )
    };
    let rows: Vec<String> = verdicts.iter().map(row).collect();
    if rows.is_empty() {
        return SectionPart::Nothing(words::NO_VERDICTS);
    }
    let heads = [
        (words::STANDING, true),
        (words::CHECK, true),
        (words::WHAT, true),
        (words::NUMBER, false),
        (words::LIMIT, false),
    ];
    let heads: Vec<String> = heads.iter().map(|(head, is_text)| head_of(&both(*head), *is_text)).collect();
    SectionPart::Plain(table_of(&heads, &rows, words::NO_VERDICTS))
}

/// Whole numbers as counts, others with as many decimals as figures have.
fn quantity(value: f64) -> String {
    if value.is_finite() && value.fract() == 0.0 && value >= 0.0 {
        count(value as u64)
    } else {
        number(value, DECIMALS)
    }
}

/// Tests of the event study by group and part of the window, how it was done, and what was set aside.
pub(super) fn events(page: &FactorReport<'_>) -> SectionPart {
    let Some(study) = page.events else { return SectionPart::Nothing(words::NO_EVENTS) };
    let asked = pairs(&[
        (words::MODEL, both(words::model(study.model))),
        (words::WINDOW, words::window(study.window)),
        (words::ESTIMATION, words::window(study.estimation)),
    ]);
    let mut rows = Vec::new();
    for group in &study.groups {
        for test in &group.tests {
            let (low, high) = group.values;
            let mut row = vec![word(&group.group.to_string())];
            row.push(figure(&format!("{} … {}", number(low, 3), number(high, 3))));
            row.push(figure(&count(group.events)));
            row.push(figure(&words::window(test.days)));
            row.push(figure(&signed(100.0 * test.mean, 3)));
            row.push(field(|language| words::test(&test.test, language).to_owned()));
            row.extend([number(test.statistic, 2), probability(test.p)].map(|value| figure(&value)));
            rows.push(row);
        }
    }
    let heads = [
        (words::GROUP, true),
        (words::VALUES, false),
        (words::EVENT_COUNT, false),
        (words::DAYS, false),
        (words::CAR_PERCENT, false),
        (words::TEST, true),
        (words::STATISTIC, false),
        (words::P, false),
    ];
    let tests = table(&heads, &rows, words::NO_TESTS);
    let excluded: Vec<Vec<String>> =
        study.excluded.iter().map(|(reason, n)| vec![wrapped(&term(reason)), figure(&count(*n))]).collect();
    let excluded = table(&[(words::EXCLUDED, true), (words::COUNT, false)], &excluded, words::NO_EXCLUDED);
    SectionPart::Plain(format!("{asked}{tests}{excluded}"))
}
