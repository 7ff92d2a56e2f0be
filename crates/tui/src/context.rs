//! The context of a page: the parts of the workbench that a page reads besides its own state.

use ratatui::layout::Rect;
use ratatui::text::Line;

use super::commands::Keymap;
use super::errand::Errand;
use super::instance::Why;
use super::jobs::JobEntry;
use super::page::Page;
use super::words::{self, Word};
use super::{Language, Workspace, look};

/// The parts of the workbench that a page reads when it draws itself, or tells whether an action is possible.
pub struct PageContext<'a> {
    pub workspace: &'a Workspace,
    pub language: Language,
    /// The page that is shown.
    pub page: Page,
    /// The area of the whole screen.
    pub screen: Rect,
    pub(crate) keymap: &'a Keymap,
    /// The jobs of this session, the newest last.
    pub jobs: &'a [JobEntry],
    /// The reason why this workbench may not write.
    pub read_only: Option<&'a Why>,
}

impl PageContext<'_> {
    pub fn say(&self, word: Word) -> &'static str {
        word.to(self.language)
    }

    /// The line in place of an answer: that the answer is being read, or its error. `None` once the answer is there.
    pub(crate) fn outstanding<T>(&self, asked: &Errand<T>) -> Option<Line<'static>> {
        match (asked.get(), asked.fault()) {
            (Some(_), _) => None,
            (None, Some(fault)) => Some(Line::styled(fault.to_owned(), look::BAD)),
            (None, None) => Some(Line::styled(self.say(words::READING), look::DIM)),
        }
    }

    /// True if a job is under way or waits.
    pub(crate) fn busy(&self) -> bool {
        self.jobs.iter().any(JobEntry::is_open)
    }

    /// True if a job of this page is under way or waits.
    pub(crate) fn busy_from(&self, page: Page) -> bool {
        self.jobs.iter().any(|job| job.from == page && job.is_open())
    }

    /// The job that a page started last, while it has not ended or is the newest that has.
    pub(crate) fn last_job_from(&self, page: Page) -> Option<&JobEntry> {
        let job = self.jobs.iter().rfind(|job| job.from == page)?;
        let newest = self.jobs.iter().rfind(|job| !job.is_open()).is_some_and(|newest| newest.id == job.id);
        Some(job).filter(|job| job.is_open() || newest)
    }
}
