//! What the reader of the workbench colours in a document: company names, and the words that gave it its tone.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::SystemTime;

use anyhow::{Context, Result, anyhow};

use super::project::Opened;
use crate::corpus::Parts;
use crate::extract::{Feature, Model, ToneWords};
use crate::link::{Field, Link, links_of_part, name_spans};
use crate::text::TokenizerParams;
use crate::tui::{Mark, Marker, Meaning};

/// Marks names by the project's links, and tone words by its first lexicon feature, if it has one.
pub(super) fn marker(opened: &Opened, links: Parts) -> Marker {
    let config = &opened.config;
    let tone = config.feature.iter().find(|f| f.model == Model::Lexicon).map(|feature| Tone {
        feature: feature.clone(),
        tokenizer: config.tokenizer.clone(),
        base: opened.base.clone(),
        words: OnceLock::new(),
    });
    let links = LinksRead { links, last: Mutex::default() };
    Arc::new(move |part, row, document| {
        let links = links.of(part)?;
        let [title, body] = [Field::Title, Field::Body].map(|field| name_spans(&links, row as u32, field));
        let tone = tone.as_ref().map(|tone| Ok::<_, anyhow::Error>(tone.words()?.in_body(document, [&title, &body])));
        let tone = tone.transpose()?.unwrap_or_default();
        let names = body.into_iter().map(|range| Mark { range, meaning: Meaning::Name });
        let tone = tone.into_iter().map(|(range, weight)| {
            let meaning = if weight > 0.0 { Meaning::Positive } else { Meaning::Negative };
            Mark { range, meaning }
        });
        Ok(names.chain(tone).collect())
    })
}

/// The tone words of a feature. Its dictionary is loaded when the first document is read, not when the workbench opens.
struct Tone {
    feature: Feature,
    tokenizer: TokenizerParams,
    base: PathBuf,
    words: OnceLock<Result<ToneWords, String>>,
}

impl Tone {
    fn words(&self) -> Result<&ToneWords> {
        let load = || ToneWords::new(&self.feature, &self.tokenizer, &self.base).map_err(|e| format!("{e:#}"));
        self.words.get_or_init(load).as_ref().map_err(|error| anyhow!("{error}"))
    }
}

/// The links of the part that was read last: documents read one after the other mostly come from one part.
struct LinksRead {
    links: Parts,
    last: Mutex<Option<(Stamp, Arc<Vec<Link>>)>>,
}

/// A file as it was when it was read; another run may write it anew.
#[derive(PartialEq)]
struct Stamp {
    path: PathBuf,
    written: SystemTime,
}

impl Stamp {
    fn of(path: &Path) -> Result<Stamp> {
        let written = path.metadata().and_then(|m| m.modified());
        let written = written.with_context(|| format!("cannot look at {}", path.display()))?;
        Ok(Stamp { path: path.to_owned(), written })
    }
}

impl LinksRead {
    /// The links of a part; none while it is not linked yet.
    fn of(&self, part: usize) -> Result<Arc<Vec<Link>>> {
        let path = self.links.path(part);
        if !path.exists() {
            return Ok(Arc::default());
        }
        let stamp = Stamp::of(&path)?;
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, links)) = last.as_ref().filter(|(read, _)| *read == stamp) {
            return Ok(links.clone());
        }
        let links = Arc::new(links_of_part(&path)?);
        *last = Some((stamp, links.clone()));
        Ok(links)
    }
}
