//! A table of three invented rows.

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::layout::{Position, Rect};

use super::*;
use crate::action::Action;
use crate::words::{CODE, KIND, TITLE, WORTH};
use crate::{Language, look};

struct Paper {
    title: &'static str,
    code: &'static str,
    worth: f64,
}

fn papers() -> Vec<Paper> {
    [("甲公司回购", "600517.SH", 0.5), ("乙公司减持", "", -1.0), ("丙公司公告", "300731.SZ", f64::NAN)]
        .into_iter()
        .map(|(title, code, worth)| Paper { title, code, worth })
        .collect()
}

const AREA: Rect = Rect::new(0, 0, 40, 8);

/// A list of the papers.
#[derive(Default)]
struct Desk {
    table: ListSheet,
}

impl Desk {
    fn new() -> Desk {
        let mut desk = Desk::default();
        desk.fill(Language::Zh);
        desk
    }

    fn fill(&mut self, language: Language) {
        self.table.fill((), language, || {
            let columns = vec![
                text("code", CODE, 10),
                text("title", TITLE, 0),
                number("worth", WORTH, 8),
                text("kind", KIND, 6).hidden(),
            ];
            let row = |paper: Paper| {
                let worth = Cell::number(paper.worth, |worth| format!("{worth:.2}"));
                let cells = vec![Cell::text(paper.code), Cell::text(paper.title), worth, Cell::text("新闻")];
                SheetRow { key: paper.title.to_owned(), style: look::PLAIN, cells }
            };
            (columns, papers().into_iter().map(row).collect())
        });
        self.table.arrange(AREA);
    }

    fn act(&mut self, actions: &[Action]) -> bool {
        actions.iter().all(|action| self.table.act(*action))
    }

    fn titles(&self) -> String {
        let table = self.table.copied();
        let at = table.header.iter().position(|title| title == "标题").unwrap();
        table.rows.iter().map(|row| row[at].chars().next().unwrap()).collect()
    }

    fn screen(&self, area: Rect) -> Vec<String> {
        let mut terminal = Terminal::new(TestBackend::new(area.width, area.height)).unwrap();
        terminal.draw(|frame| self.table.draw(frame, area)).unwrap();
        let text = crate::picture::text(terminal.backend().buffer());
        text.lines().map(|line| line.trim_end().to_owned()).collect()
    }
}

#[test]
fn any_column_sorts_and_what_is_missing_comes_last_both_ways() {
    let mut desk = Desk::new();
    assert!(desk.act(&[Action::ColumnRight, Action::ColumnRight, Action::SortTable]));
    assert_eq!(desk.titles(), "甲乙丙", "of numbers the greatest first");
    assert_eq!(desk.screen(AREA)[0], "代码       标题                      值▼");
    assert!(desk.act(&[Action::SortTable]));
    assert_eq!(desk.titles(), "乙甲丙");
    assert!(desk.act(&[Action::ColumnLeft, Action::ColumnLeft, Action::SortTable]));
    assert_eq!(desk.titles(), "丙甲乙", "codes from below, the empty one last");
    desk.table.click(Position::new(36, 0));
    assert_eq!(desk.titles(), "甲乙丙", "a click on a title sorts, by the greatest again");
    assert!(desk.table.click(Position::new(3, 2)));
    assert_eq!(desk.table.selected(), Some(1));
}

#[test]
fn columns_are_hidden_chosen_moved_and_remembered() {
    let mut desk = Desk::new();
    assert!(desk.act(&[Action::HideColumn]), "the first, which has the mark");
    assert_eq!(desk.screen(AREA)[0], "标题                                  值");
    // The kind is the last of four: shown, and moved to the front.
    let choose = [Action::ChooseColumns, Action::Last, Action::MarkRow];
    assert!(desk.act(&choose) && desk.act(&[Action::ColumnLeft; 3]));
    assert!(desk.screen(AREA)[2].starts_with("[x] 类型"), "{:?}", desk.screen(AREA));
    assert!(desk.act(&[Action::Back]));
    assert_eq!(desk.screen(AREA)[0], "类型   标题                           值");
    let memory = desk.table.remember();
    let mut other = Desk::new();
    other.table.recall(&memory);
    assert_eq!(other.screen(AREA), desk.screen(AREA));
    other.table.recall(&serde_json::json!({"columns": {"order": 3, "sort": "x", "chosen": [1]}, "marks": 7}));
    assert_eq!(other.screen(AREA)[0], "代码       标题                       值");
    for _ in 0..4 {
        other.act(&[Action::HideColumn]);
    }
    assert!(!other.screen(AREA)[0].is_empty(), "the last column stays");
}

#[test]
fn columns_that_do_not_fit_come_into_sight_with_the_mark() {
    let mut desk = Desk::new();
    let narrow = Rect::new(0, 0, 24, 5);
    assert_eq!(desk.screen(narrow)[0], "代码       标题        ›");
    desk.table.arrange(narrow);
    assert!(desk.act(&[Action::ColumnRight; 2]));
    assert_eq!(desk.screen(narrow)[0], "‹标题                 值");
    assert_eq!(desk.screen(narrow)[1], "甲公司回购          0.50");
}

#[test]
fn frequencies_lead_to_the_rows_of_a_group_and_back() {
    let mut desk = Desk::new();
    assert!(desk.act(&[Action::Frequencies]));
    let screen = desk.screen(Rect::new(0, 0, 60, 6));
    assert!(screen[0].starts_with("频次 · 代码 · 3 个值"), "{screen:?}");
    assert!(screen[2].starts_with("300731.SZ") && screen[2].contains("33.3"), "{screen:?}");
    assert!(screen[4].starts_with("（缺失）"), "{screen:?}");
    let copied = desk.table.copied();
    assert_eq!(copied.header, ["代码", "行数", "占比 %"]);
    assert_eq!(copied.rows[1][..2], ["600517.SH", "1"]);
    assert!(desk.act(&[Action::Last, Action::LedgerOpen]));
    assert_eq!(desk.titles(), "乙", "those without a code");
    assert_eq!(desk.table.about(), " · 仅 代码 = （缺失）");
    assert!(desk.table.is_open() && desk.act(&[Action::Back]) && !desk.table.is_open());
    assert_eq!(desk.titles(), "甲乙丙");
    assert!(!desk.act(&[Action::Back]), "there is nothing to go back from");
}

#[test]
fn marked_rows_are_listed_alone_and_stay_marked_in_any_order() {
    let mut desk = Desk::new();
    assert!(desk.act(&[Action::MarkRow, Action::Down, Action::MarkRow]));
    assert_eq!(desk.screen(AREA)[1..4].iter().filter(|line| line.starts_with('●')).count(), 2);
    assert!(desk.act(&[Action::OnlyMarked]));
    assert_eq!(desk.titles(), "甲丙");
    assert!(desk.act(&[Action::SortTable]));
    assert_eq!((desk.titles().as_str(), desk.table.about().as_str()), ("丙甲", " · 仅标记 2"));
    desk.fill(Language::En);
    assert_eq!(desk.table.about(), " · marked only 2");
    desk.fill(Language::Zh);
    assert!(desk.act(&[Action::Back]));
    assert_eq!(desk.titles(), "丙甲乙");
}

#[test]
fn a_summary_has_counts_and_quantiles() {
    let values = [1.0, 2.0, 2.0, 7.0].map(|value| vec![Value::Number(value)]);
    let summary = Summary::of(values.into_iter().chain([vec![Value::Missing]]));
    let lines: Vec<String> =
        summary.lines(Language::En).into_iter().map(|(name, value)| format!("{name} {value}")).collect();
    assert_eq!(
        lines[..8],
        [
            "rows 5",
            "missing 1",
            "distinct values 3",
            "minimum 1",
            "mean 3",
            "median 2",
            "maximum 7",
            "standard deviation 2.70801"
        ]
    );
    assert_eq!(lines[9], "5 % quantile 1.15");
}

#[test]
fn numbers_of_many_values_are_counted_by_tenths_and_none_is_lost() {
    let mut counting = Counting::default();
    // Half of the rows have one value.
    (0..2000).for_each(|i| counting.row([Value::Number(f64::from(if i % 2 == 0 { 7 } else { i }))]));
    counting.row([Value::Missing]);
    let found = counting.end();
    assert_eq!((found.rows, found.lines.iter().map(|(_, n)| n).sum::<u64>()), (2001, 2001));
    assert_eq!(found.lines.last(), Some(&(Group::Missing, 1)));
    for i in [1, 7, 999, 1999] {
        let value = Value::Number(f64::from(i));
        assert_eq!(found.lines.iter().filter(|(group, _)| group.holds(&value)).count(), 1, "{i}");
    }
    let mut few = Counting::default();
    [3.0, 1.0, 3.0].into_iter().for_each(|number| few.row([Value::Number(number)]));
    assert_eq!(few.end().lines, [(Group::Number(1.0), 1), (Group::Number(3.0), 2)]);
}

#[test]
fn times_are_counted_by_days_or_months_and_gaps_are_seen() {
    let count = |days: &[&str]| {
        let mut counting = Counting::default();
        days.iter().for_each(|day| counting.row([Value::Time(format!("{day}T09:30:00").parse().unwrap())]));
        let lines = counting.end().lines;
        lines.into_iter().map(|(group, n)| (group.label(Language::En), n)).collect::<Vec<_>>()
    };
    let expected = |lines: &[(&str, u64)]| lines.iter().map(|(day, n)| ((*day).to_owned(), *n)).collect::<Vec<_>>();
    assert_eq!(
        count(&["2024-01-03", "2024-01-01"]),
        expected(&[("2024-01-01", 1), ("2024-01-02", 0), ("2024-01-03", 1)])
    );
    assert_eq!(
        count(&["2023-12-31", "2024-03-08"]),
        expected(&[("2023-12", 1), ("2024-01", 0), ("2024-02", 0), ("2024-03", 1)])
    );
}
