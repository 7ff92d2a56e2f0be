//! The model file of a vectorizer: its terms and their document frequencies; weights follow from them and the parameters.
//!
//! Sections: `terms` (text of each column), `df` (u64 a column), and how terms are made of units: `units` (each unit once),
//! `spelling` (u32 places in `units`, one term after another; 2^32 - 1 marks a title's term) and `ends` (u64 a column, where its
//! spelling ends). Hashing vectorizers have them empty.

use std::path::Path;

use anyhow::{Context, Result};
use rustc_hash::FxHashMap;
use serde::Serialize;
use serde_json::json;

use super::fit::TermVocabulary;
use super::terms::{NONE, TITLE};
use super::{Vectorizer, VectorizerParams};
use crate::{ModelFile, ModelHeader, pack_strings, write_model};

use inkstone_base::language::Word;
use inkstone_base::{ensure, message};

/// The terms as units, as the file holds them.
#[derive(Default)]
struct Spelling<'v> {
    units: Vec<&'v str>,
    spelling: Vec<u32>,
    ends: Vec<u64>,
}

impl<'v> Spelling<'v> {
    fn new(vocabulary: &'v TermVocabulary) -> Spelling<'v> {
        let mut of_column = vec![NONE; vocabulary.names.len()];
        for (id, &column) in (0..).zip(&vocabulary.columns).filter(|(_, column)| **column != NONE) {
            of_column[column as usize] = id;
        }
        let mut places: FxHashMap<u32, u32> = FxHashMap::default();
        let (mut out, mut spelled) = (Spelling::default(), Vec::new());
        for id in of_column {
            spelled.clear();
            vocabulary.terms.spelling(id, &mut spelled);
            for &unit in &spelled {
                out.spelling.push(match unit {
                    TITLE => NONE,
                    unit => *places.entry(unit).or_insert_with(|| {
                        out.units.push(vocabulary.terms.unit_text(unit));
                        out.units.len() as u32 - 1
                    }),
                });
            }
            out.ends.push(out.spelling.len() as u64);
        }
        out
    }
}

impl Vectorizer {
    /// Kind of its model files.
    pub const KIND: &str = "vectorizer";
    const VERSION: u32 = 1;

    /// Writes the model file; `cut` says how its documents were cut.
    pub fn save(&self, path: &Path, cut: &impl Serialize) -> Result<()> {
        let header = ModelHeader {
            kind: Vectorizer::KIND.to_owned(),
            version: Vectorizer::VERSION,
            fitted_until: self.fitted_until,
            documents: self.documents,
            params: json!({"cut": cut, "vectorizer": self.params, "length": self.length}),
        };
        let sections = self.sections();
        write_model(path, &header, &sections.iter().map(|(name, bytes)| (*name, &bytes[..])).collect::<Vec<_>>())
    }

    pub fn read(file: &ModelFile) -> Result<Vectorizer> {
        file.expect(Vectorizer::KIND, Vectorizer::VERSION)?;
        Vectorizer::within(file)
    }

    /// The sections of its vocabulary, for a model file of its own or of a model that reads its rows.
    pub fn sections(&self) -> [(&'static str, Vec<u8>); 5] {
        let spelling = Spelling::new(&self.vocabulary);
        [
            ("terms", pack_strings(self.vocabulary.names.iter().map(AsRef::as_ref))),
            ("df", bytemuck::cast_slice(&self.vocabulary.df).to_vec()),
            ("units", pack_strings(spelling.units)),
            ("spelling", bytemuck::cast_slice(&spelling.spelling).to_vec()),
            ("ends", bytemuck::cast_slice(&spelling.ends).to_vec()),
        ]
    }

    /// The vectorizer within a model file of any kind that has [`Vectorizer::sections`], and `vectorizer` (its parameters) and
    /// `length` among its own parameters.
    pub fn within(file: &ModelFile) -> Result<Vectorizer> {
        let params: VectorizerParams = file.param("vectorizer")?;
        params.check().context(Word(
            "向量化的设置已损坏；请重新训练",
            "the settings of the vectorizer are damaged; train the model again",
        ))?;
        let names: Vec<Box<str>> = file.strings("terms")?.into_iter().map(Box::from).collect();
        let df = file.numbers::<u64>("df")?.to_vec();
        let (units, spelling) = (file.strings("units")?, file.numbers::<u32>("spelling")?);
        let ends = file.numbers::<u64>("ends")?;
        ensure!(
            names.len() == df.len() && names.len() == ends.len(),
            "模型有 {} 个词项、{} 个频数与 {} 个写法；请重新训练",
            "the model has {} terms, {} frequencies and {} spellings; train it again",
            names.len(),
            df.len(),
            ends.len()
        );
        let mut vocabulary = TermVocabulary { names, df, ..TermVocabulary::default() };
        let mut start = 0;
        for (column, &end) in (0..).zip(ends) {
            let damaged = || {
                message!(
                    "词项 {column} 的写法已损坏；请重新训练",
                    "the spelling of term {column} is damaged; train the model again"
                )
            };
            let spelled = spelling.get(start..end as usize).with_context(damaged)?;
            let unit = |&at: &u32| match at {
                NONE => Some(None),
                at => units.get(at as usize).map(|unit| Some(*unit)),
            };
            let spelled: Option<Vec<Option<&str>>> = spelled.iter().map(unit).collect();
            vocabulary.spell(column, spelled.with_context(damaged)?.into_iter()).with_context(damaged)?;
            start = end as usize;
        }
        let header = file.header();
        Ok(Vectorizer::from_parts(params, vocabulary, header.documents, file.param("length")?, header.fitted_until))
    }

    /// Terms of all documents that it was fitted on: what [`Vectorizer::within`] wants as `length`.
    pub fn length(&self) -> u64 {
        self.length
    }
}
