//! Events that documents tell: which kind, of which security, and with which numbers.
//!
//! A sentence (one that `；` ends, too) tells an event if a trigger of its [`EventRule`] stands in it, none of the words `without` does, and no
//! negation stands before the trigger. The event is of the first security that the sentence names, and of those that 、, 和, 与 or 及 join to
//! it; of the only security of the document if the sentence names none; else of nobody, and it is counted. Each argument is the quantity of its
//! kind nearest to the trigger: first in the clause between two commas in which the trigger stands, then behind it, then before it. Of
//! several sentences of a document that tell the same kind of the same security the one with most arguments counts, the first of equals.
//!
//! A document tells its events when it is known, so no later document changes them.
//!
//! Useful for: announcements and flashes. Not for: events that only several sentences together tell.

mod finder;
mod rule;

pub use finder::{EventFinder, FoundEvent, FoundInDocument};
pub use rule::{EventRule, RangeEnd};

/// Changes whenever the same text would give other events, so that factors are not kept.
pub const VERSION: u32 = 1;
