//! The intents that events mean. [`intent`] is pure: the same state and event give the same intent.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::Position;

use super::action::Action;
use super::app::{App, Dialog, PendingQuestion};
use super::commands::{COMMANDS, Command};
use super::event::Event;
use super::tour;

/// The meaning of an event in the present state.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Intent {
    /// A command of the table.
    Do(Action),
    /// The question on the screen is answered.
    Answer(bool),
    /// The jobs go on in a process of their own, and the workbench is left.
    Detach,
    /// Whatever lies over the page is closed.
    Close,
    /// Scroll what lies over the page by so many lines.
    Scroll(isize),
    /// A key goes into the field that is typed in.
    Edit(KeyEvent),
    /// Text goes into the field that is typed in.
    Insert(String),
    /// Text that is typed or pasted outside a field goes into the one that this action opens.
    Begin(Action, String),
    /// The field stands as it is typed.
    Accept,
    /// The field is left.
    LeaveField,
    /// Another command of the palette is marked.
    Mark(Action),
    /// The marked command of the palette is done.
    Choose,
    /// A key goes to the form that lies over the page.
    Form(KeyEvent),
    FormText(String),
    /// The tour goes to this step, or ends.
    Tour(Option<usize>),
    /// The mouse was pressed here.
    Click(Position),
    /// The wheel was turned here; true if down.
    Wheel(Position, bool),
    /// Ctrl-C.
    Interrupt,
}

/// The meaning of a key or of pasted text; `None` if it has none here.
pub(crate) fn intent(app: &App, event: &Event) -> Option<Intent> {
    match event {
        Event::Key(key) if key.kind != KeyEventKind::Release => of_key(app, key),
        Event::Mouse(mouse) => of_mouse(app, mouse),
        Event::Paste(text) if matches!(app.dialog, Some(Dialog::Settings)) => Some(Intent::FormText(text.clone())),
        Event::Paste(text) if app.typing() => Some(Intent::Insert(text.clone())),
        Event::Paste(text) => begin(app, text.clone()),
        _ => None,
    }
}

/// The meaning of text outside a field; none on a page without one, and where something lies over the page.
fn begin(app: &App, text: String) -> Option<Intent> {
    let opens =
        |command: &&Command| command.action.opens_line() && command.pages.contains(&app.page) && app.can(command);
    let command = COMMANDS.iter().find(opens).filter(|_| app.dialog.is_none() && !text.is_empty())?;
    Some(Intent::Begin(command.action, text))
}

fn of_mouse(app: &App, mouse: &MouseEvent) -> Option<Intent> {
    let wheel = match mouse.kind {
        MouseEventKind::ScrollDown => 1,
        MouseEventKind::ScrollUp => -1,
        MouseEventKind::Down(MouseButton::Left) => return Some(Intent::Click(Position::new(mouse.column, mouse.row))),
        _ => return None,
    };
    let step = if wheel > 0 { Action::Down } else { Action::Up };
    let at = Position::new(mouse.column, mouse.row);
    match app.dialog {
        Some(Dialog::Help(_)) => Some(Intent::Scroll(3 * wheel)),
        Some(Dialog::Palette(_)) => Some(Intent::Mark(step)),
        Some(Dialog::Settings) => {
            Some(Intent::Form(KeyEvent::from(if wheel > 0 { KeyCode::Down } else { KeyCode::Up })))
        }
        Some(Dialog::Question(_)) => None,
        None => Some(Intent::Wheel(at, wheel > 0)),
    }
}

fn of_key(app: &App, key: &KeyEvent) -> Option<Intent> {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    if control && key.code == KeyCode::Char('c') {
        return Some(Intent::Interrupt);
    }
    match app.dialog {
        // Enter, which is pressed everywhere, does not agree to run code of others.
        Some(Dialog::Question(PendingQuestion::Library)) if key.code == KeyCode::Enter => None,
        Some(Dialog::Question(PendingQuestion::Quit)) if app.can_detach() && key.code == KeyCode::Char('d') => {
            Some(Intent::Detach)
        }
        Some(Dialog::Question(_)) => match key.code {
            KeyCode::Char('y' | 'Y') | KeyCode::Enter => Some(Intent::Answer(true)),
            KeyCode::Char('n' | 'N' | 'q') | KeyCode::Esc => Some(Intent::Answer(false)),
            _ => None,
        },
        Some(Dialog::Help { .. }) => match key.code {
            KeyCode::Down | KeyCode::Char('j') => Some(Intent::Scroll(1)),
            KeyCode::Up | KeyCode::Char('k') => Some(Intent::Scroll(-1)),
            KeyCode::PageDown | KeyCode::Char(' ') => Some(Intent::Scroll(10)),
            KeyCode::PageUp => Some(Intent::Scroll(-10)),
            KeyCode::Char('L') => Some(Intent::Do(Action::Language)),
            KeyCode::Esc | KeyCode::Enter | KeyCode::Char('?' | 'q') => Some(Intent::Close),
            _ => None,
        },
        Some(Dialog::Palette(_)) => match key.code {
            KeyCode::Enter => Some(Intent::Choose),
            KeyCode::Esc => Some(Intent::Close),
            KeyCode::Down | KeyCode::Tab => Some(Intent::Mark(Action::Down)),
            KeyCode::Up | KeyCode::BackTab => Some(Intent::Mark(Action::Up)),
            KeyCode::PageDown => Some(Intent::Mark(Action::PageDown)),
            KeyCode::PageUp => Some(Intent::Mark(Action::PageUp)),
            KeyCode::Char('n') if control => Some(Intent::Mark(Action::Down)),
            KeyCode::Char('p') if control => Some(Intent::Mark(Action::Up)),
            _ => Some(Intent::Edit(*key)),
        },
        Some(Dialog::Settings) => Some(Intent::Form(*key)),
        None if app.typing() => match key.code {
            KeyCode::Enter | KeyCode::Down => Some(Intent::Accept),
            KeyCode::Esc => Some(Intent::LeaveField),
            _ => Some(Intent::Edit(*key)),
        },
        None => {
            if let Some(step) = app.over.tour.and_then(|step| tour::intent(step, key)) {
                return Some(Intent::Tour(step));
            }
            match (app.keymap.command(app.page, key), key.code) {
                (Some(command), _) => app.can(command).then_some(Intent::Do(command.action)),
                // What an input method sends is no key of any command.
                (None, KeyCode::Char(one)) if !one.is_ascii() && one.is_alphanumeric() => begin(app, one.to_string()),
                _ => None,
            }
        }
    }
}
