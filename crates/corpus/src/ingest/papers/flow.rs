//! Text of HTML and DOCX as it flows: lines, rows of tables, links, and the main part of a page.

use super::letters::is_wide;
use inkstone_base::limits::TABLE_DEPTH;

/// Characters of a row of a table at the most; a longer one is layout, and its cells are texts of their own.
const ROW: usize = 300;
/// Characters of a cell of several lines from which on these are paragraphs.
const CELL: usize = 80;
/// Characters of a main part from which on it stands for the whole page.
const MAIN: usize = 100;
/// Share of the characters of a line in links from which on the line does not belong to the text.
const LINKED: f64 = 0.7;
/// Stand around linked text until lines are judged.
const LINK: (char, char) = ('\u{1}', '\u{2}');

/// The lines that flowed.
#[derive(Debug, Default)]
pub(super) struct FlowedText {
    pub(super) body: String,
}

#[derive(Debug)]
enum OpenElement {
    Main,
    Table,
    Row(Vec<String>),
    Cell,
}

/// Collects text; open elements need not be closed.
#[derive(Debug, Default)]
pub(super) struct Flow {
    /// Open elements with the text inside so far.
    open: Vec<(OpenElement, String)>,
    page: String,
    main: String,
    linked: bool,
    space: bool,
}

impl Flow {
    fn out(&mut self) -> &mut String {
        self.open.last_mut().map_or(&mut self.page, |(_, text)| text)
    }

    /// Text with white space as it comes; a run of it is one space, or none between Han characters.
    pub(super) fn text(&mut self, text: &str) {
        for c in text.chars() {
            if c.is_whitespace() || c == '\u{200b}' || c == '\u{feff}' {
                self.space = true;
                continue;
            }
            if c.is_control() {
                continue;
            }
            let space = std::mem::take(&mut self.space);
            let out = self.out();
            let last = out.chars().next_back().filter(|c| *c != '\n');
            if space && last.is_some_and(|last| !(is_wide(last) && is_wide(c))) {
                out.push(' ');
            }
            out.push(c);
        }
    }

    pub(super) fn end_line(&mut self) {
        self.space = false;
        let out = self.out();
        if !out.is_empty() && !out.ends_with('\n') {
            out.push('\n');
        }
    }

    pub(super) fn open_link(&mut self) {
        if !self.linked {
            self.linked = true;
            if std::mem::take(&mut self.space) {
                self.out().push(' ');
            }
            self.out().push(LINK.0);
        }
    }

    pub(super) fn close_link(&mut self) {
        if std::mem::take(&mut self.linked) {
            self.out().push(LINK.1);
        }
    }

    /// Opens an element if it is no deeper than pages have it; beyond, text goes on where it was.
    fn push(&mut self, frame: OpenElement) {
        self.close_link();
        if self.open.len() < TABLE_DEPTH {
            self.open.push((frame, String::new()));
        }
        self.space = false;
    }

    pub(super) fn open_main(&mut self) {
        self.end_line();
        self.push(OpenElement::Main);
    }

    pub(super) fn open_table(&mut self) {
        self.end_line();
        self.push(OpenElement::Table);
    }

    pub(super) fn open_row(&mut self) {
        self.close_row();
        self.push(OpenElement::Row(Vec::new()));
    }

    pub(super) fn open_cell(&mut self) {
        self.close_cell();
        self.push(OpenElement::Cell);
    }

    pub(super) fn close_main(&mut self) {
        self.close_through(|frame| matches!(frame, OpenElement::Main), |_| false);
    }

    pub(super) fn close_table(&mut self) {
        self.close_through(|frame| matches!(frame, OpenElement::Table), |_| false);
    }

    /// Closes the row that is open in the innermost table.
    pub(super) fn close_row(&mut self) {
        self.close_through(|frame| matches!(frame, OpenElement::Row(_)), |frame| matches!(frame, OpenElement::Table));
    }

    /// Closes the cell that is open in the innermost row.
    pub(super) fn close_cell(&mut self) {
        self.close_through(
            |frame| matches!(frame, OpenElement::Cell),
            |frame| matches!(frame, OpenElement::Row(_) | OpenElement::Table),
        );
    }

    fn close_through(&mut self, wanted: impl Fn(&OpenElement) -> bool, outside: impl Fn(&OpenElement) -> bool) {
        let inside = self.open.iter().rev().take_while(|(frame, _)| !outside(frame));
        if let Some(depth) = inside.map(|(frame, _)| wanted(frame)).position(|found| found) {
            (0..=depth).for_each(|_| self.close_innermost());
        }
    }

    fn close_innermost(&mut self) {
        self.close_link();
        let Some((frame, text)) = self.open.pop() else { return };
        self.space = false;
        match frame {
            OpenElement::Cell => match self.open.last_mut() {
                Some((OpenElement::Row(cells), _)) => cells.push(text),
                _ => self.add(&text),
            },
            OpenElement::Row(cells) => self.add_row(&cells, &text),
            OpenElement::Table => self.add(&text),
            OpenElement::Main => {
                if !self.open.iter().any(|(frame, _)| matches!(frame, OpenElement::Main)) {
                    add_lines(&mut self.main, &text);
                }
                self.add(&text);
            }
        }
    }

    fn add(&mut self, text: &str) {
        add_lines(self.out(), text);
    }

    fn add_row(&mut self, cells: &[String], beside: &str) {
        let full: Vec<&str> = cells.iter().map(|c| c.trim()).filter(|c| !c.is_empty()).collect();
        let length: usize = full.iter().map(|c| c.chars().count()).sum();
        let texts = |c: &&str| c.lines().count() > 3 || (c.contains('\n') && c.chars().count() > CELL);
        let rows = full.iter().any(texts);
        if length <= ROW && !rows {
            let cells: Vec<String> =
                full.iter().map(|c| c.lines().map(str::trim).collect::<Vec<_>>().join(" ")).collect();
            self.add(&cells.join(" "));
        } else {
            full.iter().for_each(|cell| self.add(cell));
        }
        self.add(beside);
    }

    /// Everything that flowed, or the main part when there is enough of it.
    pub(super) fn finish(mut self) -> FlowedText {
        while !self.open.is_empty() {
            self.close_innermost();
        }
        self.close_link();
        let (main, page) = (judged(&self.main), judged(&self.page));
        let enough = main.chars().count() >= MAIN.min(page.chars().count().div_ceil(2)).max(1);
        FlowedText { body: if enough { main } else { page } }
    }
}

fn add_lines(out: &mut String, text: &str) {
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        if !out.is_empty() && !out.ends_with('\n') {
            out.push('\n');
        }
        out.push_str(line.trim());
        out.push('\n');
    }
}

/// The lines without those that are links, and without the marks of links.
fn judged(text: &str) -> String {
    let mut lines = Vec::new();
    for line in text.lines() {
        let (mut inside, mut linked, mut all) = (false, 0usize, 0usize);
        let mut plain = String::with_capacity(line.len());
        for c in line.chars() {
            match c {
                c if c == LINK.0 => inside = true,
                c if c == LINK.1 => inside = false,
                c => {
                    all += usize::from(!c.is_whitespace());
                    linked += usize::from(inside && !c.is_whitespace());
                    plain.push(c);
                }
            }
        }
        let sentence = plain.trim_end().ends_with(['。', '！', '？']);
        if all > 0 && (sentence || (linked as f64) < LINKED * all as f64) {
            lines.push(plain.trim().to_owned());
        }
    }
    lines.join("\n")
}
