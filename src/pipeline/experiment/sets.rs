//! The feature sets of an experiment's cells. Each is computed once, for whatever cells need it, and goes with the last of them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, Result};

use super::plan::PlannedCell;
use super::{ExperimentRun, KeyedResult, cells};
use crate::pipeline::stage::StageId;
use inkstone_base::data::{Key, Report, TooLittle};
use inkstone_base::disk;
use inkstone_base::language::{Message, Word};
use inkstone_features::experiment::Target;
use inkstone_features::extract::{self, Cost, Feature, FeatureSets, Inputs};

/// The sets of an experiment that runs: users, ids, costs.
#[derive(Default)]
pub(super) struct CellSets {
    /// Number of cells that still need a set, by the key of its computation.
    needed: BTreeMap<Key, usize>,
    /// Feature whose set lacks data, and the reason, by the key of the set.
    lacking: BTreeMap<Key, (String, Message)>,
}

/// The sets that a cell's feature learns on, by the names of their features.
#[derive(Default)]
pub(super) struct InputSets {
    pub(super) ids: BTreeMap<String, Key>,
    /// Cost of the sets.
    pub(super) cost: Cost,
}

impl ExperimentRun<'_> {
    /// Notes which sets the cells need.
    pub(super) fn note_needed<'p>(&self, plan: impl Iterator<Item = &'p PlannedCell>) -> Result<()> {
        for planned in plan {
            for key in self.keys_of(planned)? {
                *self.sets.borrow_mut().needed.entry(key).or_default() += 1;
            }
        }
        Ok(())
    }

    /// Removes the sets that were computed for cells alone and that no further cell needs.
    pub(super) fn release(&self, planned: &PlannedCell) -> Result<()> {
        for key in self.keys_of(planned)? {
            let mut sets = self.sets.borrow_mut();
            let left =
                sets.needed.get_mut(&key).context(Word("各单元的需求应已记下", "the needs of all cells are noted"))?;
            *left -= 1;
            if *left > 0 {
                continue;
            }
            // The set may be gone already, by a run that was killed before it removed the note.
            if let Some((set, _)) = self.note(key)? {
                if !self.in_use.contains(&set) {
                    self.store.remove(&set)?;
                }
                let path = self.note_of(key);
                disk::remove_if_there(&path)?;
                disk::sync_folder(disk::folder_of(&path))?;
            }
        }
        Ok(())
    }

    /// Keys of the feature sets that only this cell needs: the sets of its inputs, and its own set unless a factor is built from it.
    fn keys_of(&self, planned: &PlannedCell) -> Result<Vec<Key>> {
        let (feature, inputs) = (&planned.varied.feature, planned.varied.inputs.iter());
        let own = (self.params.target != Target::Factor && feature.model.has_dense_rows()).then_some(feature);
        inputs.chain(own).map(|feature| self.key_of(feature, planned)).collect()
    }

    fn key_of(&self, feature: &Feature, planned: &PlannedCell) -> Result<Key> {
        self.run.extract_key_among(feature, &planned.varied.inputs, &planned.varied.tokenizer)
    }

    /// The file that names the set of a key while cells need it.
    fn note_of(&self, key: Key) -> PathBuf {
        self.folder().join("sets").join(format!("{}.json", key.hex()))
    }

    /// The sets of a cell's inputs, each computed where it is not there yet.
    pub(super) fn input_sets(
        &self,
        planned: &PlannedCell,
        inputs: &Inputs<'_>,
        reports: &mut Vec<Report>,
    ) -> Result<InputSets> {
        let mut made = InputSets::default();
        for feature in &planned.varied.inputs {
            let sets = Some(FeatureSets { store: self.store, ids: &made.ids });
            let (set, cost) = self.set_of(feature, planned, &Inputs { sets, ..*inputs }, reports)?;
            made.cost = cells::sum(&made.cost, &cost);
            made.ids.insert(feature.name.clone(), set);
        }
        Ok(made)
    }

    /// The set of a cell's feature or of one of its inputs, and what it cost; computed where neither the project nor the experiment has it.
    pub(super) fn set_of(
        &self,
        feature: &Feature,
        planned: &PlannedCell,
        inputs: &Inputs<'_>,
        reports: &mut Vec<Report>,
    ) -> Result<(Key, Cost)> {
        let run = self.run;
        let key = self.key_of(feature, planned)?;
        if let Some((first, reason)) = self.sets.borrow().lacking.get(&key) {
            let [first, own] = [first, &feature.name].map(|name| format!("{name:?}"));
            let [zh, en] = [&reason.zh, &reason.en].map(|text| text.replace(&first, &own));
            return Err(TooLittle(Message { zh, en }).into());
        }
        if let Some(found) = self.noted(key)? {
            return Ok(found);
        }
        let read = self.cost_of(feature, planned);
        if let Some(found) = self.configured(key, &read)? {
            return Ok(found);
        }
        let work = || extract::run(feature, inputs, self.store, run.ctx);
        let made = run.ctx.stage(&feature.name, "docs", run.documents, work).inspect_err(|error| {
            if error.is::<TooLittle>() {
                self.sets.borrow_mut().lacking.insert(key, (feature.name.clone(), Message::of_error(error)));
            }
        });
        let (set, report) = made?;
        let cost = cells::cost_of_report(&report, &read)?;
        reports.push(report);
        disk::write_json(&self.note_of(key), &KeyedResult { key, made: (set, cost.clone()) })?;
        Ok((set, cost))
    }

    /// The set and its cost in the note of this key. A note that cannot be read may name a set, which would never be removed if the note were
    /// passed over.
    fn note(&self, key: Key) -> Result<Option<(Key, Cost)>> {
        let note = disk::read_json_if_whole::<KeyedResult<(Key, Cost)>>(&self.note_of(key))?;
        Ok(note.filter(|note| note.key == key).map(|note| note.made))
    }

    /// The set that this experiment has computed of this key.
    fn noted(&self, key: Key) -> Result<Option<(Key, Cost)>> {
        let Some(noted) = self.note(key)? else { return Ok(None) };
        Ok(self.store.set(&noted.0)?.is_some().then_some(noted))
    }

    /// The set that the project has of this key, as that of a feature.
    fn configured(&self, key: Key, read: &Cost) -> Result<Option<(Key, Cost)>> {
        for feature in &self.run.config.feature {
            let id = StageId::Extract(feature.name.clone());
            if let Some((_, Some(set))) = self.run.state.key_of(&id).filter(|made| made.0 == key)
                && self.store.set(&set)?.is_some()
                && let Some(report) = self.run.state.report(&id)
            {
                return Ok(Some((set, cells::cost_of_report(report, read)?)));
            }
        }
        Ok(None)
    }

    /// The tokens that a feature reads of the documents, as they were audited.
    pub(super) fn cost_of(&self, feature: &Feature, planned: &PlannedCell) -> Cost {
        let reads_documents = feature.text.is_empty();
        let audited = (reads_documents && feature.learns_on_words()).then(|| self.audit_of(feature, planned)).flatten();
        audited.map(|(cost, _)| cost.clone()).unwrap_or_default()
    }
}
