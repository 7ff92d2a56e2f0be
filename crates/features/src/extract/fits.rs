//! Fits of a feature that do not depend on one another: the step of a model of past documents is fitted on its window alone, and so is the network
//! of a fold. Any process can compute any of them, and the one that makes the rows takes the results up.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use anyhow::Result;
use chrono::NaiveDateTime;
use serde::Serialize;
use serde::de::DeserializeOwned;

use inkstone_base::data::Key;
use inkstone_base::job::Ctx;
use inkstone_store::{RowFolder, RowKind, Rows, SetSpec};

use super::{Feature, Inputs};

/// Walks over the fits of a feature without making rows of them. First it gives the keys of the parts of the corpus and the set of the rows to
/// the function, which may refuse them.
pub(crate) type WalkFits =
    fn(&Feature, &Inputs<'_>, &Ctx, &mut dyn FnMut(&[Key], &SetSpec) -> Result<()>) -> Result<()>;

/// One fit, named by the set and the step that determine its result, with its cost.
#[derive(Clone, Debug)]
pub(crate) struct Fit {
    /// The set whose rows it serves, with all that determines them.
    spec: SetSpec,
    /// First midnight of its step, or of the test window of its fold.
    begin: NaiveDateTime,
    /// Columns of the result.
    dim: usize,
    /// Documents and tokens of its window.
    pub(crate) documents: u64,
    pub(crate) tokens: u64,
}

impl Fit {
    /// The fit of the step or test window that begins at a midnight, for the rows of a set.
    pub(crate) fn new(spec: &SetSpec, begin: NaiveDateTime, dim: usize, (documents, tokens): (u64, u64)) -> Fit {
        Fit { spec: spec.clone(), begin, dim, documents, tokens }
    }

    /// The set under which results of such fits are kept.
    pub(crate) fn results(&self) -> SetSpec {
        let params = serde_json::json!({"fits_for": self.spec.id()});
        SetSpec { kind: RowKind::Dense { dim: self.dim }, params, ..self.spec.clone() }
    }

    pub(crate) fn key(&self) -> Key {
        Key::of_json(&(self.spec.id(), self.begin))
    }
}

/// The result of a fit.
pub(crate) struct FitResult<T> {
    /// Rows of [`Fit::dim`] columns.
    pub(crate) values: Vec<f32>,
    /// The report of the fit, which the walk takes over with the values.
    pub(crate) note: T,
}

/// A walk over the fits of a feature treats each fit in one of these ways.
#[derive(Default)]
pub enum Fits<'a> {
    /// The walk computes the fit.
    #[default]
    Here,
    /// The walk lists the fit, and computes nothing.
    List(Mutex<Vec<ListedFit>>),
    /// The walk computes the fit if the key of the fit is among these, and keeps the result in a folder.
    Keep { folder: &'a RowFolder, keys: BTreeSet<Key>, done: &'a Mutex<KeptFits> },
    /// The walk takes the result from a folder, and computes the fit where the folder has no result.
    Take { folder: &'a RowFolder, taken: &'a Mutex<u64> },
}

/// A fit that was listed.
#[derive(Clone, Debug)]
pub struct ListedFit {
    pub key: Key,
    /// The set under which its result is kept.
    pub results: SetSpec,
    /// Documents and tokens of its window.
    pub documents: u64,
    pub tokens: u64,
}

/// The fits that a worker computed, found and left.
#[derive(Default)]
pub struct KeptFits {
    pub computed: Vec<Key>,
    pub there: Vec<Key>,
    /// Fits that killed the workers that began them.
    pub left: Vec<Key>,
}

impl Fits<'_> {
    /// Every fit is computed.
    pub fn here() -> &'static Fits<'static> {
        static HERE: Fits<'static> = Fits::Here;
        &HERE
    }

    /// True if the walk computes nothing.
    pub(crate) fn lists(&self) -> bool {
        matches!(self, Fits::List(_))
    }

    /// The fits that a walk listed, in its order.
    pub(crate) fn listed(&self) -> Vec<ListedFit> {
        match self {
            Fits::List(listed) => listed.lock().unwrap_or_else(PoisonError::into_inner).clone(),
            Fits::Here | Fits::Keep { .. } | Fits::Take { .. } => Vec::new(),
        }
    }

    /// The result of a fit; none where this walk only lists fits or keeps their results.
    pub(crate) fn result<T: Serialize + DeserializeOwned>(
        &self,
        fit: &Fit,
        compute: impl FnOnce() -> Result<FitResult<T>>,
    ) -> Result<Option<FitResult<T>>> {
        match self {
            Fits::Here => compute().map(Some),
            Fits::List(listed) => {
                let listing =
                    ListedFit { key: fit.key(), results: fit.results(), documents: fit.documents, tokens: fit.tokens };
                listed.lock().unwrap_or_else(PoisonError::into_inner).push(listing);
                Ok(None)
            }
            Fits::Keep { folder, keys, done } => {
                if keys.contains(&fit.key()) {
                    keep(fit, folder, &mut done.lock().unwrap_or_else(PoisonError::into_inner), compute)?;
                }
                Ok(None)
            }
            Fits::Take { folder, taken } => {
                let (set, key) = (fit.results().id(), fit.key());
                match (folder.values(set, key, fit.dim)?, folder.note(set, key)?) {
                    (Some(values), Some(note)) => {
                        *taken.lock().unwrap_or_else(PoisonError::into_inner) += 1;
                        Ok(Some(FitResult { values, note }))
                    }
                    _ => compute().map(Some),
                }
            }
        }
    }
}

fn keep<T: Serialize + DeserializeOwned>(
    fit: &Fit,
    folder: &RowFolder,
    done: &mut KeptFits,
    compute: impl FnOnce() -> Result<FitResult<T>>,
) -> Result<()> {
    let (results, key) = (fit.results(), fit.key());
    let set = results.id();
    if folder.note::<T>(set, key)?.is_some() && folder.has(set, key)? {
        done.there.push(key);
        return Ok(());
    }
    let Some(_attempt) = folder.attempt(set, key)? else {
        done.left.push(key);
        return Ok(());
    };
    let FitResult { values, note } = compute()?;
    folder.put_note(set, key, &note)?;
    let keys = vec![key; values.len() / fit.dim];
    folder.put(&results, key, &Rows::dense(keys, fit.dim, values))?;
    folder.forget_attempts(set, key)?;
    done.computed.push(key);
    Ok(())
}
