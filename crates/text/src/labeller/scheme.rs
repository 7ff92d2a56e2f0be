//! Names of labels, which labels may follow which, and what a sequence of labels says.
//!
//! A label is a place, with a kind behind a hyphen where names are looked for: `B` begins, `M` or `I` goes on, `E` ends, `S` is one character
//! alone, `O` is outside. A scheme without `E` ends a span where the next label does not go on.

use std::ops::Range;

use anyhow::Result;

use inkstone_base::ensure;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LabelPlace {
    Begin,
    Inside,
    End,
    Single,
    Outside,
}

/// The labels of a model.
pub struct Scheme {
    /// Place and number of the kind.
    labels: Vec<(LabelPlace, usize)>,
    kinds: Vec<String>,
    /// True if spans end with a label of their own.
    has_ends: bool,
}

/// A span of characters: the number of its kind, and its characters.
pub type Span = (usize, Range<usize>);

impl Scheme {
    /// The labels of words: B, M, E and S.
    pub fn of_words() -> Vec<String> {
        ["B", "M", "E", "S"].map(str::to_owned).to_vec()
    }

    /// The labels of names of these kinds: BIOES, or BIO without `ends`.
    pub fn of_names(kinds: &[String], ends: bool) -> Vec<String> {
        let places: &[&str] = if ends { &["B", "I", "E", "S"] } else { &["B", "I"] };
        let of_kind = |kind: &String| places.iter().map(move |place| format!("{place}-{kind}")).collect::<Vec<_>>();
        std::iter::once("O".to_owned()).chain(kinds.iter().flat_map(of_kind)).collect()
    }

    pub fn new(names: &[String]) -> Result<Scheme> {
        let mut kinds: Vec<String> = Vec::new();
        let mut labels = Vec::new();
        ensure!(
            (2..=usize::from(u8::MAX)).contains(&names.len()),
            "标签有 {} 个，应为 2 到 255 个",
            "there are {} labels; a model has 2 to 255",
            names.len()
        );
        for name in names {
            let (place, kind) = name.split_once('-').unwrap_or((name, ""));
            let place = match place {
                "B" => LabelPlace::Begin,
                "I" | "M" => LabelPlace::Inside,
                "E" => LabelPlace::End,
                "S" => LabelPlace::Single,
                "O" => LabelPlace::Outside,
                _ => inkstone_base::bail!(
                    "标签 {name:?} 不是 B、I、M、E、S 或 O",
                    "the label {name:?} is none of B, I, M, E, S and O"
                ),
            };
            let number = kinds.iter().position(|known| known == kind).unwrap_or(kinds.len());
            if place != LabelPlace::Outside && number == kinds.len() {
                kinds.push(kind.to_owned());
            }
            labels.push((place, number));
        }
        let has_ends = labels.iter().any(|(place, _)| *place == LabelPlace::End);
        Ok(Scheme { labels, kinds, has_ends })
    }

    /// The names of the kinds; one empty name for words.
    pub fn kinds(&self) -> &[String] {
        &self.kinds
    }

    /// True if the labels cut a text into words: no character is outside.
    pub fn cuts_words(&self) -> bool {
        self.labels.iter().all(|(place, _)| *place != LabelPlace::Outside)
    }

    fn goes_on(&self, label: usize) -> bool {
        matches!(self.labels[label].0, LabelPlace::Inside | LabelPlace::End)
    }

    fn is_open(&self, label: usize) -> bool {
        matches!(self.labels[label].0, LabelPlace::Begin | LabelPlace::Inside)
    }

    /// True if label `to` may follow label `from`.
    pub fn allows(&self, from: usize, to: usize) -> bool {
        if self.goes_on(to) {
            self.is_open(from) && self.labels[from].1 == self.labels[to].1
        } else {
            !self.has_ends || !self.is_open(from)
        }
    }

    /// Labels that a text may begin with.
    pub fn begins(&self) -> Vec<bool> {
        (0..self.labels.len()).map(|label| !self.goes_on(label)).collect()
    }

    /// Labels that a text may end with.
    pub fn ends(&self) -> Vec<bool> {
        (0..self.labels.len()).map(|label| !self.has_ends || !self.is_open(label)).collect()
    }

    /// The labels of a text of `length` characters with these spans, which do not overlap. None where a span has a kind without labels.
    pub fn labels(&self, length: usize, spans: &[Span]) -> Option<Vec<u8>> {
        let find = |place, kind| self.labels.iter().position(|label| *label == (place, kind));
        let outside = self.labels.iter().position(|(place, _)| *place == LabelPlace::Outside);
        let mut labels = vec![outside.unwrap_or(usize::from(u8::MAX)) as u8; length];
        for (kind, span) in spans {
            for at in span.clone() {
                let place = match (at == span.start, at + 1 == span.end) {
                    (true, true) if self.has_ends => LabelPlace::Single,
                    (true, _) => LabelPlace::Begin,
                    (false, true) if self.has_ends => LabelPlace::End,
                    (false, _) => LabelPlace::Inside,
                };
                labels[at] = find(place, *kind)? as u8;
            }
        }
        (outside.is_some() || labels.iter().all(|label| *label < u8::MAX)).then_some(labels)
    }

    /// The spans that labels say; the labels follow one another as [`Scheme::allows`] says.
    pub fn spans(&self, labels: &[u8]) -> Vec<Span> {
        let mut spans: Vec<Span> = Vec::new();
        let mut open = false;
        for (at, &label) in labels.iter().enumerate() {
            let (place, kind) = self.labels[usize::from(label)];
            match (place, spans.last_mut()) {
                (LabelPlace::Outside, _) => {}
                (LabelPlace::Inside | LabelPlace::End, Some((_, span))) if open => span.end = at + 1,
                _ => spans.push((kind, at..at + 1)),
            }
            open = matches!(place, LabelPlace::Begin | LabelPlace::Inside);
        }
        spans
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_become_labels_and_labels_spans() {
        let words = Scheme::new(&Scheme::of_words()).unwrap();
        let cut = [(0, 0..3), (0, 3..4), (0, 4..6)];
        let labels = words.labels(6, &cut).unwrap();
        assert_eq!(labels, [0, 1, 2, 3, 0, 2]);
        assert_eq!(words.spans(&labels), cut);
        assert!(words.cuts_words() && words.labels(7, &cut).is_none(), "no character of a text is outside its words");
        let kinds = ["ORG", "PER"].map(str::to_owned);
        for (ends, expected) in [(true, [0, 1, 3, 8, 4, 0]), (false, [0, 1, 2, 3, 1, 0])] {
            let names = Scheme::new(&Scheme::of_names(&kinds, ends)).unwrap();
            let spans = [(0, 1..3), (1, 3..4), (0, 4..5)];
            let labels = names.labels(6, &spans).unwrap();
            assert_eq!(labels, expected);
            assert_eq!(names.spans(&labels), spans);
            assert!(!names.cuts_words());
        }
    }

    #[test]
    fn labels_follow_one_another_as_their_scheme_says() {
        let words = Scheme::new(&Scheme::of_words()).unwrap();
        let allowed = |scheme: &Scheme, from| (0..4).filter(|&to| scheme.allows(from, to)).collect::<Vec<_>>();
        assert_eq!([0, 1, 2, 3].map(|from| allowed(&words, from)), [vec![1, 2], vec![1, 2], vec![0, 3], vec![0, 3]]);
        assert_eq!((words.begins(), words.ends()), (vec![true, false, false, true], vec![false, false, true, true]));
        let names = Scheme::new(&["O", "B-a", "I-a", "I-b", "B-b"].map(str::to_owned)).unwrap();
        assert!(names.allows(1, 2) && names.allows(1, 0) && names.allows(2, 4));
        assert!(!names.allows(1, 3) && !names.allows(0, 2) && !names.begins()[2] && names.ends()[2]);
        assert!(Scheme::new(&["B".to_owned(), "X".to_owned()]).is_err());
    }
}
