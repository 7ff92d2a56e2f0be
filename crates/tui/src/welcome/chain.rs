//! The questions after the first file: prices, securities, and a first factor, each with the reason why it is needed.

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::words;
use crate::{Language, look, sentences};
use inkstone_corpus::ingest::{Source, Table};

use inkstone_base::language::Word;

/// Cells of the box at the most.
const WIDEST: u16 = 92;

/// The question that is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Documents,
    Prices,
    Securities,
    /// A feature and a factor of tone, to be added and run.
    Factor,
}

/// The answer to a key.
pub(super) enum ChainStep {
    Stay,
    /// Another file is to be chosen.
    Choose,
    /// The project begins; with the template of the tone if so.
    Begin(bool),
    Leave,
}

/// The sources that were chosen, and what is still asked.
pub(super) struct Chain {
    pub(super) sources: Vec<Source>,
    next: Next,
}

impl Chain {
    pub(super) fn new(first: Source) -> Chain {
        let mut chain = Chain { sources: vec![first], next: Next::Documents };
        chain.next = chain.first_missing(Next::Documents);
        chain
    }

    pub(super) fn add(&mut self, source: Source) {
        self.sources.push(source);
        self.next = self.first_missing(self.next);
    }

    /// Names that a further source cannot have.
    pub(super) fn names(&self) -> Vec<String> {
        self.sources.iter().map(|source| source.name.clone()).collect()
    }

    /// Kind of data that the wizard asks for next.
    pub(super) fn wanted(&self) -> Option<Word> {
        match self.next {
            Next::Documents => Some(words::DOCUMENTS),
            Next::Prices => Some(words::PRICES),
            Next::Securities => Some(words::SECURITIES),
            Next::Factor => None,
        }
    }

    fn has(&self, table: Table) -> bool {
        self.sources.iter().any(|source| source.table == table)
    }

    /// The first question, from this one on, whose table is not there.
    fn first_missing(&self, from: Next) -> Next {
        let all =
            [(Next::Documents, Table::Documents), (Next::Prices, Table::Prices), (Next::Securities, Table::Securities)];
        let left = all.into_iter().skip_while(|(next, _)| *next != from);
        left.into_iter().find(|(_, table)| !self.has(*table)).map_or(Next::Factor, |(next, _)| next)
    }

    pub(super) fn key(&mut self, key: &KeyEvent) -> ChainStep {
        let yes = matches!(key.code, KeyCode::Enter | KeyCode::Char('y' | 'o'));
        let no = matches!(key.code, KeyCode::Char('n'));
        match (self.next, key.code) {
            (_, KeyCode::Esc | KeyCode::Char('q')) => ChainStep::Leave,
            (Next::Factor, _) if yes => ChainStep::Begin(true),
            (Next::Factor, _) if no => ChainStep::Begin(false),
            (_, _) if yes => ChainStep::Choose,
            (next, _) if no => {
                let after = match next {
                    Next::Documents => Next::Prices,
                    Next::Prices => Next::Securities,
                    Next::Securities | Next::Factor => Next::Factor,
                };
                self.next = self.first_missing(after);
                // Without documents or prices there is nothing to make a factor of.
                let possible = self.has(Table::Documents) && self.has(Table::Prices);
                if self.next == Next::Factor && !possible { ChainStep::Begin(false) } else { ChainStep::Stay }
            }
            _ => ChainStep::Stay,
        }
    }

    pub(super) fn draw(&self, language: Language, frame: &mut Frame<'_>, screen: Rect) {
        let say = |word: Word| word.to(language);
        let wide = screen.width.min(WIDEST);
        let cells = usize::from(wide.saturating_sub(6));
        let mut lines: Vec<(String, ratatui::style::Style)> = vec![(String::new(), look::PLAIN)];
        let mut add = |text: &str, style| {
            lines.extend(sentences::lines(text, cells).into_iter().map(|line| (line, style)));
        };
        let tables = [
            (Table::Documents, words::DOCUMENTS, words::WITHOUT_DOCUMENTS),
            (Table::Prices, words::PRICES, words::WITHOUT_PRICES),
            (Table::Securities, words::SECURITIES, words::WITHOUT_SECURITIES),
        ];
        for (table, name, without) in tables {
            let there: Vec<&str> =
                self.sources.iter().filter(|source| source.table == table).map(|source| source.path.as_str()).collect();
            match there.is_empty() {
                false => add(&format!("✓ {}: {}", say(name), there.join(", ")), look::GOOD),
                true => add(&format!("– {}: {}", say(name), say(without)), look::NOTE),
            }
        }
        add("", look::PLAIN);
        let question = match self.next {
            Next::Documents => words::ASK_DOCUMENTS,
            Next::Prices => words::ASK_PRICES,
            Next::Securities => words::ASK_SECURITIES,
            Next::Factor => words::ASK_FACTOR,
        };
        add(say(question), look::STRONG);
        let height =
            u16::try_from(lines.len()).unwrap_or(u16::MAX).saturating_add(3).min(screen.height.saturating_sub(1));
        let [body, keys] = Layout::vertical([Constraint::Min(0), Constraint::Length(1)]).areas(screen);
        let area = body.centered(Constraint::Length(wide), Constraint::Length(height));
        let block = look::pane(Line::styled(format!(" {} ", say(words::NEXT)), look::STRONG), true);
        let inner = look::framed(block, frame, area);
        let text = Rect { x: inner.x + 2, width: inner.width.saturating_sub(4), ..inner };
        let lines = lines.into_iter().map(|(line, style)| Line::from(Span::styled(line, style)));
        frame.render_widget(Paragraph::new(lines.collect::<Vec<_>>()), text);
        let yes = if self.next == Next::Factor { words::YES_RUN } else { words::CHOOSE_FILE };
        let no = if self.next == Next::Factor { words::NO_OPEN } else { words::SKIP };
        let list = [("Enter", yes), ("n", no), ("Esc", words::GIVE_UP), ("L", super::words::LANGUAGE)];
        let spans = list
            .into_iter()
            .flat_map(|(key, word)| [Span::styled(key, look::KEY), Span::raw(format!(" {}  ", say(word)))]);
        frame.render_widget(Line::from_iter(std::iter::once(Span::raw(" ")).chain(spans)), keys);
    }
}
