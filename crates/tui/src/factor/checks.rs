//! The verdicts of the look-ahead checks on a factor, as a list.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Position, Rect};
use ratatui::style::Style;
use ratatui::text::Line;

use super::picture::BacktestPicture;
use super::words as own;
use crate::action::Action;
use crate::context::PageContext;
use crate::desk::Desk;
use crate::kit::{Cell, ListSheet, SheetRow, number, text};
use crate::page::Table;
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
    sheet: ListSheet,
}

impl Checks {
    /// Does an action of the list; false where it is none.
    pub(super) fn act(&mut self, action: Action) -> bool {
        let action = match action {
            Action::Left => Action::ColumnLeft,
            Action::Right => Action::ColumnRight,
            Action::Sort => Action::SortTable,
            other => other,
        };
        self.sheet.act(action)
    }

    pub(super) fn arrange(&mut self, verdicts: &[Verdict], page: Rect, desk: &Desk<'_>) {
        let area = look::inside(panes(page)[1]);
        let cells_of_name = if area.width >= WIDE { 29 } else { 23 };
        let found: String = verdicts.iter().map(|verdict| finding(verdict, desk.language)).collect();
        self.sheet.fill((found, cells_of_name), desk.language, || {
            let columns = vec![
                text("check", own::CHECK, cells_of_name),
                text("standing", own::STANDING, 10),
                number("number", own::NUMBER, 9),
                number("limit", own::LIMIT, 9),
                text("finding", own::FINDING, 0),
            ];
            let row = |verdict: &Verdict| {
                let (sign, word) = standing_name(verdict.standing);
                let number =
                    |value: Option<f64>| Cell::number(value.unwrap_or(f64::NAN), |value| figures::number(value, 4));
                let name = desk.say(check_name(verdict.check));
                let cells = vec![
                    Cell::text(name),
                    Cell::text(desk.say(word)).shown(format!("{sign} {}", desk.say(word))),
                    number(verdict.number),
                    number(verdict.limit),
                    Cell::text(finding(verdict, desk.language)),
                ];
                SheetRow { key: name.to_owned(), style: style(verdict.standing), cells }
            };
            (columns, verdicts.iter().map(row).collect())
        });
        self.sheet.arrange(area);
    }

    pub(super) fn click(&mut self, at: Position) {
        self.sheet.click(at);
    }

    /// The list, for copying.
    pub(super) fn table(&self) -> Table {
        self.sheet.copied()
    }
}

/// Breadcrumbs, the list, the finding.
fn panes(page: Rect) -> [Rect; 3] {
    Layout::vertical([Constraint::Length(1), Constraint::Min(0), Constraint::Length(FINDING)]).areas(page)
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
    checks.sheet.draw(frame, inner);
    if let Some(verdict) = checks.sheet.selected().and_then(|at| verdicts.get(at)) {
        let (sign, word) = standing_name(verdict.standing);
        let title = format!(" {sign} {} · {} ", context.say(word), context.say(check_name(verdict.check)));
        look::message(finding(verdict, context.language), look::pane(title, false), frame, below);
    }
}

fn passed_word(context: &PageContext<'_>) -> &'static str {
    context.say(standing_name(Standing::Passed).1)
}
