//! Table of the effect of each value of each setting.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::{Block, Paragraph};

use super::list;
use super::words as own;
use crate::context::PageContext;
use crate::page::{Table, exact};
use crate::{figures, look, width, words};
use inkstone_features::experiment::{Effect, Findings};
use inkstone_report as report;
use inkstone_report::{DECIMALS, TextTone};

use inkstone_base::language::Language;

/// Cells of a mean, a difference, an interval and a probability, each with a space before it.
const WIDE: [usize; 4] = [9, 9, 20, 8];

/// Draws the table; an interval where there is room for it.
pub(super) fn draw(
    context: &PageContext<'_>,
    findings: &Findings,
    block: Block<'_>,
    frame: &mut Frame<'_>,
    area: Rect,
) {
    let cells = findings.effects.iter().map(|effect| effect.cells).max().unwrap_or(0);
    let over = format!(" {} {} ", context.say(own::EFFECT_OVER), figures::count(cells));
    let over = width::cut(&over, (area.width as usize).saturating_sub(36));
    let inner = look::framed(block.title_bottom(Line::styled(over, look::DIM)), frame, area);
    let total = inner.width as usize;
    let with_interval = total >= 16 + WIDE.iter().sum::<usize>();
    let taken: usize = WIDE.iter().sum::<usize>() - if with_interval { 0 } else { WIDE[2] };
    let named = total.saturating_sub(taken);
    let line = |name: &str, [mean, difference, interval, p]: [&str; 4]| {
        let mut line = width::left(name, named) + &width::right(mean, WIDE[0]) + &width::right(difference, WIDE[1]);
        if with_interval {
            line += &width::right(interval, WIDE[2]);
        }
        line + &width::right(p, WIDE[3])
    };
    let heads = [words::FIGURE_DIFFERENCE, words::INTERVAL, words::P_ADJUSTED].map(|word| context.say(word));
    let measure = report::measure(findings, context.language);
    let head = line(context.say(own::VALUE), [measure, heads[0], heads[1], heads[2]]);
    let mut lines = vec![Line::styled(head, look::DIM)];
    for effect in &findings.effects {
        let shown = effect.against.map(|c| {
            [figures::signed(c.difference, DECIMALS), report::interval(c.interval), figures::probability(c.p_adjusted)]
        });
        let [difference, interval, p] = shown.unwrap_or_else(|| ["–"; 3].map(str::to_owned));
        let style = match effect.against {
            None => list::style(TextTone::Baseline),
            Some(c) if c.p_adjusted > 1.0 - findings.confidence => look::PLAIN,
            Some(c) if c.difference > 0.0 => list::style(TextTone::Above),
            Some(_) => list::style(TextTone::Below),
        };
        let mean = figures::number(effect.figure, DECIMALS);
        lines.push(Line::styled(
            line(&report::effect_label(findings, effect), [&mean, &difference, &interval, &p]),
            style,
        ));
    }
    frame.render_widget(Paragraph::new(lines), inner);
}

/// The table as it is copied.
pub(super) fn copied(findings: &Findings, language: Language) -> Table {
    let mut header = vec![own::VALUE.to(language).to_owned(), report::measure(findings, language).to_owned()];
    let figures = [words::FIGURE_DIFFERENCE, own::LOW, own::HIGH, words::P_ADJUSTED];
    header.extend(figures.map(|word| word.to(language).to_owned()));
    let row = |effect: &Effect| {
        let against = |figure: fn(&inkstone_base::bootstrap::Comparison) -> f64| {
            exact(effect.against.as_ref().map_or(f64::NAN, figure))
        };
        vec![
            report::effect_label(findings, effect),
            exact(effect.figure),
            against(|c| c.difference),
            against(|c| c.interval.low),
            against(|c| c.interval.high),
            against(|c| c.p_adjusted),
        ]
    };
    Table { header, rows: findings.effects.iter().map(row).collect() }
}
