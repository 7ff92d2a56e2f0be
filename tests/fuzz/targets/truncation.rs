//! Truncation: a strategy reads back what it shows; what it keeps is in order, whole, and at most its limit.

use arbitrary::Unstructured;
use inkstone_corpus::structure::{Salience, Section, Sentence};
use inkstone_corpus::truncate::{Layout, Strategy};
use inkstone_text::Truncation;

/// Sentences of a document at the most.
const SENTENCES: usize = 24;

pub(super) fn check(bytes: &[u8]) {
    let (text, rest) = bytes.split_at(bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len()));
    let Ok(text) = std::str::from_utf8(text) else { return };
    if let Ok(truncation) = text.parse::<Truncation>() {
        assert_eq!(truncation.to_string().parse::<Truncation>().expect("it is shown as it is written"), truncation);
    }
    let Ok(strategy) = text.parse::<Strategy>() else { return };
    assert_eq!(strategy.to_string().parse::<Strategy>().expect("it is shown as it is written"), strategy);
    // What the bytes do not say is zero.
    views(&strategy, &mut Unstructured::new(rest)).unwrap_or_default();
}

fn views(strategy: &Strategy, bytes: &mut Unstructured<'_>) -> arbitrary::Result<()> {
    let specials = usize::from(bytes.arbitrary::<u8>()? % 8);
    let draw = bytes.arbitrary()?;
    let (mut sentences, mut starts, mut at) = (Vec::new(), Vec::new(), 0u32);
    while !bytes.is_empty() && sentences.len() < SENTENCES {
        let length = u32::from(bytes.arbitrary::<u8>()? % 40);
        let section = *bytes.choose(&Section::ALL)?;
        let mut value = || bytes.arbitrary::<f32>();
        let salience = Salience { tfidf: value()?, textrank: value()?, novelty: value()? };
        sentences.push(Sentence { range: at..at + length, section, boilerplate: bytes.arbitrary()?, salience });
        starts.extend((at..at + length).map(|start| start as usize));
        at += length;
    }
    let layout = Layout::new(starts, if bytes.arbitrary()? { &[] } else { &sentences[..] });
    assert_eq!(layout.tokens(), at as usize);
    let views = strategy.views(&layout, specials, draw);
    assert!(strategy.over().is_some() || views.len() <= 1);
    for view in &views {
        assert!(!view.is_empty());
        assert!(view.tokens.iter().all(|range| range.start < range.end && range.end <= layout.tokens()));
        assert!(view.tokens.windows(2).all(|pair| pair[0].end < pair[1].start));
        if let Some(limit) = strategy.limit(specials) {
            assert!(view.len() + specials <= limit.max(specials), "{strategy}: {view:?}");
        }
    }
    Ok(())
}
