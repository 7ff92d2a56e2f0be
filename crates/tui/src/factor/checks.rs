//! The verdicts of the look-ahead checks on a factor, as a list.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Position, Rect};
use ratatui::style::Style;
use ratatui::text::Line;

use super::drill::mark;
use super::picture::BacktestPicture;
use super::words as own;
use crate::action::Action;
use crate::context::PageContext;
use crate::desk::Desk;
use crate::list::{self, Cursor, ListColumn};
use crate::page::{Table, exact};
use crate::{figures, look, words};
use inkstone_lab::lint::{Standing, Verdict};
use inkstone_report::{check_name, standing_name, verdict_sentences};

use inkstone_base::language::Language;

/// Lines of the finding below the list, with its frame.
const FINDING: u16 = 7;

/// Width from which the longest name of a check has room.
const WIDE: u16 = 100;

/// The list, while it is open.
#[derive(Default)]
pub(super) struct Checks {
    cursor: Cursor,
}

impl Checks {
    pub(super) fn step(&mut self, action: Action, count: usize, page: Rect) {
        self.cursor.step(action, count, list::rows(list_area(page)));
    }

    pub(super) fn arrange(&mut self, count: usize, page: Rect) {
        self.cursor.arrange(count, list::rows(list_area(page)));
    }

    pub(super) fn click(&mut self, at: Position, count: usize, page: Rect) {
        self.cursor.click(at, list_area(page), count);
    }
}

/// Breadcrumbs, the list, the finding.
fn panes(page: Rect) -> [Rect; 3] {
    Layout::vertical([Constraint::Length(1), Constraint::Min(0), Constraint::Length(FINDING)]).areas(page)
}

fn list_area(page: Rect) -> Rect {
    look::inside(panes(page)[1])
}

/// The list, for copying.
pub(super) fn table(verdicts: &[Verdict], desk: &Desk<'_>) -> Table {
    let header = [own::CHECK, own::STANDING, own::NUMBER, own::LIMIT, own::FINDING];
    let row = |verdict: &Verdict| {
        vec![
            desk.say(check_name(verdict.check)).to_owned(),
            desk.say(standing_name(verdict.standing).1).to_owned(),
            exact(verdict.number.unwrap_or(f64::NAN)),
            exact(verdict.limit.unwrap_or(f64::NAN)),
            finding(verdict, desk.language),
        ]
    };
    Table::new(desk.language, &header, verdicts.iter().map(row).collect())
}

fn finding(verdict: &Verdict, language: Language) -> String {
    let [zh, en] = verdict_sentences(verdict);
    if language == Language::Zh { zh } else { en }
}

fn style(standing: Standing) -> Style {
    match standing {
        Standing::Passed => look::GOOD,
        Standing::Warned => look::NOTE,
        Standing::Failed => look::BAD,
        Standing::Skipped => look::DIM,
    }
}

pub(super) fn draw(
    context: &PageContext<'_>,
    checks: &Checks,
    picture: &BacktestPicture,
    frame: &mut Frame<'_>,
    page: Rect,
) {
    let [crumbs, area, below] = panes(page);
    let crumb = format!(" {} {} › {}", context.say(words::FACTOR), picture.outcome.factor, context.say(own::CHECKS));
    frame.render_widget(Line::styled(crumb, look::DIM), crumbs);
    let verdicts = match &picture.verdicts {
        Ok(verdicts) if !verdicts.is_empty() => verdicts,
        other => {
            let line = match other {
                Err(error) => Line::styled(error.to_string(), look::BAD),
                Ok(_) if context.busy() => Line::raw(context.say(own::CHECKS_UNDER_WAY)),
                Ok(_) => Line::raw(context.say(own::NO_CHECKS)),
            };
            let block = look::pane(format!(" {} ", context.say(own::CHECKS)), true);
            return look::message(line, block, frame, area.union(below));
        }
    };
    let passed = verdicts.iter().filter(|verdict| verdict.standing == Standing::Passed).count();
    let title = format!(" {} · {passed}/{} {} ", context.say(own::CHECKS), verdicts.len(), passed_word(context));
    let block =
        look::pane(title, true).title_bottom(Line::styled(format!(" {} ", context.say(own::CHECK_AGAIN)), look::DIM));
    let inner = look::framed(block, frame, area);
    let check = format!(" {}", context.say(own::CHECK));
    let columns = [
        ListColumn::text(&check, if inner.width >= WIDE { 30 } else { 24 }),
        ListColumn::text(context.say(own::STANDING), 10),
        ListColumn::number(context.say(own::NUMBER), 9),
        ListColumn::number(context.say(own::LIMIT), 9),
        ListColumn::text(context.say(own::FINDING), 0),
    ];
    let number = |value: Option<f64>| value.map_or("–".to_owned(), |value| figures::number(value, 4));
    let row = |at: usize| {
        let verdict = &verdicts[at];
        let (sign, word) = standing_name(verdict.standing);
        let cells = vec![
            format!("{}{}", mark(at == checks.cursor.at), context.say(check_name(verdict.check))),
            format!("{sign} {}", context.say(word)),
            number(verdict.number),
            number(verdict.limit),
            finding(verdict, context.language),
        ];
        (cells, style(verdict.standing))
    };
    list::draw(&columns, verdicts.len(), checks.cursor, row, frame, inner);
    if let Some(verdict) = verdicts.get(checks.cursor.at) {
        let (sign, word) = standing_name(verdict.standing);
        let title = format!(" {sign} {} · {} ", context.say(word), context.say(check_name(verdict.check)));
        look::message(finding(verdict, context.language), look::pane(title, false), frame, below);
    }
}

fn passed_word(context: &PageContext<'_>) -> &'static str {
    context.say(standing_name(Standing::Passed).1)
}
