//! Many documents at once through the index, so that the waits for memory overlap.
//!
//! A word's context depends on the word before, and so a single document waits for memory at every look. Here some documents
//! go side by side, a look at a time: first each touches the entries that it will need, then each looks at them.

use super::index::{Index, Look, State};

/// Documents side by side: enough to hide the waits, few enough for the processor's outstanding loads.
const LANES: usize = 12;

/// The probability of a word.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Scored {
    /// log10 of its probability.
    pub log10: f32,
    /// Order of the n-gram that gave it.
    pub order: u32,
}

/// A document on its way.
struct DocumentWalk {
    /// Next word and the end of the document.
    at: usize,
    end: usize,
    state: State,
    /// log10 of the back-off weights met on the way to the next word.
    back_off: f32,
}

impl Index<'_> {
    /// The words of documents, one document after another, each ending where `ends` says. Each begins after `first`.
    pub(super) fn walk(&self, words: &[u32], ends: &[usize], first: State, out: &mut Vec<Scored>) {
        out.clear();
        out.resize(words.len(), Scored::default());
        let starts = std::iter::once(0).chain(ends.iter().copied());
        let mut documents = starts.zip(ends.iter().copied()).filter(|(start, end)| start < end);
        let lane = |(at, end)| DocumentWalk { at, end, state: first, back_off: 0.0 };
        let mut lanes: Vec<DocumentWalk> = documents.by_ref().take(LANES).map(lane).collect();
        while !lanes.is_empty() {
            let mut looks = [Look::default(); LANES];
            for (look, lane) in looks.iter_mut().zip(&lanes) {
                *look = self.look(lane.state, words[lane.at]);
            }
            let mut ended = false;
            for (&look, lane) in looks.iter().zip(&mut lanes) {
                match self.found(look) {
                    None => {
                        lane.back_off += look.weight;
                        lane.state = self.shorter(lane.state, look);
                    }
                    Some(place) => {
                        let step = self.arrive(place, lane.state);
                        out[lane.at] = Scored { log10: lane.back_off + step.log10, order: step.order };
                        lane.at += 1;
                        lane.state = step.state;
                        lane.back_off = 0.0;
                        ended |= lane.at == lane.end;
                    }
                }
            }
            if ended {
                lanes.retain_mut(|l| {
                    if l.at == l.end {
                        match documents.next() {
                            Some(next) => *l = lane(next),
                            None => return false,
                        }
                    }
                    true
                });
            }
        }
    }
}
