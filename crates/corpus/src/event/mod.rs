//! Events in documents: which kind, of which security, and with which numbers.
//!
//! A sentence (one that `；` ends, too) has an event if a trigger of its [`EventRule`] stands in it, none of the words `without` does, and no
//! negation stands before the trigger. A trigger is a word of the rule, or a span that the rule's labeller marks. The event is of the first security that the sentence names, and of those that 、, 和, 与 or 及 join to
//! it; of the only security of the document if the sentence names none; else of no security, and the sentence is counted. Each argument is the quantity of its
//! kind nearest to the trigger: first in the clause between two commas in which the trigger stands, then behind it, then before it. Of
//! several sentences of a document with the same kind and the same security the one with most arguments counts, the first of equals.
//!
//! An event is known when its document is known, so no later document changes it; one that a labeller found is known from the end of the
//! labeller's text on at the earliest.
//!
//! Useful for: announcements and flashes. Not for: events that are spread over several sentences.

mod finder;
mod rule;

pub use finder::{EventFinder, FoundEvent, FoundInDocument};
pub use rule::{EventRule, RangeEnd};

/// Changes whenever the same text would give other events, so that factors are not kept.
pub const VERSION: u32 = 2;
