//! Work on a plan: the parts of some tasks.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde::Serialize;

use super::{Plan, PlannedFits, PlannedPart, WorkerResources, open};
use crate::extract::fits::{Fits, KeptFits};
use crate::extract::part_model::PartModel;
use crate::extract::set::key_of;
use inkstone_base::data::{Key, Report};
use inkstone_base::ensure;
use inkstone_base::job::Ctx;
use inkstone_base::language::Word;
use inkstone_store::{RowFolder, SetSpec};

/// Time between two looks at the folder of rows.
const LOOK: Duration = Duration::from_secs(1);

/// The parts that a worker computed, found and left.
#[derive(Debug, Default, Serialize)]
pub struct Worked {
    pub set: Key,
    /// Numbers of the parts that it computed.
    pub computed: Vec<usize>,
    /// Numbers of the parts whose rows were there.
    pub there: Vec<usize>,
    /// Numbers of the parts that killed the workers that began them: `inkstone run` computes them.
    pub left: Vec<usize>,
}

/// How far the tasks of a plan are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Progress {
    pub set: Key,
    pub tasks: Vec<TaskProgress>,
}

/// How far a task is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TaskProgress {
    pub task: usize,
    pub parts: usize,
    /// Parts whose rows are there.
    pub done: usize,
    pub documents: u64,
    /// Documents of these parts.
    pub done_documents: u64,
}

impl Plan {
    /// Computes the parts of some tasks that the folder of rows lacks.
    pub fn work(&self, tasks: Range<usize>, resources: &WorkerResources<'_>, ctx: &Ctx) -> Result<(Worked, Report)> {
        let parts = self.parts_of(tasks)?;
        let folder = RowFolder::new(&self.rows);
        folder.own()?;
        let set = self.set();
        if let Some(fits) = &self.fits {
            return self.work_on_fits(fits, parts.collect(), &folder, resources, ctx);
        }
        let mut worked = Worked { set, ..Worked::default() };
        let mut report = Report::new(&self.feature.name);
        self.with_inputs(resources, Fits::here(), |inputs| {
            let mut model = open(&self.feature, inputs, ctx)?;
            self.check(&mut model)?;
            for number in parts {
                let PlannedPart { key, documents: count, .. } = self.parts[number];
                report.rows_in += count;
                if folder.has(set, key)? {
                    worked.there.push(number);
                    ctx.advance(count)?;
                    continue;
                }
                let Some(_attempt) = folder.attempt(set, key)? else {
                    worked.left.push(number);
                    report.drop_rows("of a part that killed each worker that began it", count);
                    ctx.advance(count)?;
                    continue;
                };
                let documents = model.reader.part(number)?;
                ensure!(
                    key_of(&documents) == key, "语料第 {number} 份不是制定计划时的那份：请重新制定计划（inkstone plan）", "part {number} of the corpus is not the one that the plan was made for: make the plan again (inkstone plan)");
                folder.put(&self.spec, key, &model.rows(&documents)?)?;
                folder.forget_attempts(set, key)?;
                worked.computed.push(number);
            }
            Ok(())
        })?;
        report.rows_out = report.rows_in - report.dropped_rows();
        Ok((worked, report))
    }

    /// Computes some fits and keeps their results.
    fn work_on_fits(
        &self,
        planned: &PlannedFits,
        numbers: Vec<usize>,
        folder: &RowFolder,
        resources: &WorkerResources<'_>,
        ctx: &Ctx,
    ) -> Result<(Worked, Report)> {
        let walk = self
            .feature
            .model
            .entry()
            .walk_fits
            .context(Word("计划中特征的模型没有拟合步骤", "the model of the plan's feature has no fits"))?;
        let done = Mutex::new(KeptFits::default());
        let keys = numbers.iter().map(|&number| self.parts[number].key).collect();
        self.with_inputs(resources, &Fits::Keep { folder, keys, done: &done }, |inputs| {
            walk(&self.feature, inputs, ctx, &mut |parts, rows| {
                ensure!(
                    parts == planned.parts,
                    "语料不是制定计划时的那份：请重新制定计划（inkstone plan）",
                    "the corpus is not the one that the plan was made for: make the plan again (inkstone plan)"
                );
                same_set(&planned.rows, rows)
            })
        })?;
        let done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
        let numbers_of = |keys: &[Key]| -> Vec<usize> {
            numbers.iter().copied().filter(|&number| keys.contains(&self.parts[number].key)).collect()
        };
        let worked = Worked {
            set: self.set(),
            computed: numbers_of(&done.computed),
            there: numbers_of(&done.there),
            left: numbers_of(&done.left),
        };
        let mut report = Report::new(&self.feature.name);
        report.rows_in = numbers.len() as u64;
        report.drop_rows("of a fit that killed each worker that began it", worked.left.len() as u64);
        report.rows_out = report.rows_in - report.dropped_rows();
        Ok((worked, report))
    }

    /// The parts of each task that are there. Files are looked for by name and not read.
    pub fn progress(&self, tasks: Range<usize>) -> Result<Progress> {
        self.documents(tasks.clone())?;
        let there: BTreeSet<Key> = RowFolder::new(&self.rows).batches(self.set())?;
        let task = |task: usize| {
            let parts = || self.tasks[task].iter().map(|&part| &self.parts[part]);
            let done = || parts().filter(|part| there.contains(&part.key));
            TaskProgress {
                task,
                parts: parts().count(),
                done: done().count(),
                documents: parts().map(|part| part.documents).sum(),
                done_documents: done().map(|part| part.documents).sum(),
            }
        };
        Ok(Progress { set: self.set(), tasks: tasks.map(task).collect() })
    }

    /// Waits until all parts of some tasks are there, and tells how far they are.
    pub fn watch(&self, tasks: Range<usize>, ctx: &Ctx) -> Result<(Progress, Report)> {
        let mut report = Report::new(&self.feature.name);
        loop {
            let progress = self.progress(tasks.clone())?;
            let sum = |count: fn(&TaskProgress) -> usize| progress.tasks.iter().map(count).sum::<usize>();
            let (parts, done) = (sum(|task| task.parts), sum(|task| task.done));
            let documents = progress.tasks.iter().map(|task| task.done_documents).sum::<u64>();
            ctx.advance(documents.saturating_sub(report.rows_in))?;
            ctx.note(format!("{done}/{parts}"));
            report.rows_in = documents.max(report.rows_in);
            report.rows_out = report.rows_in;
            if done == parts {
                return Ok((progress, report));
            }
            let until = Instant::now() + LOOK;
            while Instant::now() < until {
                ctx.check()?;
                std::thread::sleep(Duration::from_millis(50));
            }
        }
    }

    /// Documents of some tasks.
    pub fn documents(&self, tasks: Range<usize>) -> Result<u64> {
        Ok(self.parts_of(tasks)?.map(|part| self.parts[part].documents).sum())
    }

    fn parts_of(&self, tasks: Range<usize>) -> Result<impl Iterator<Item = usize>> {
        let count = self.tasks.len();
        ensure!(
            tasks.end <= count && (tasks.start < tasks.end || count == 0),
            "计划有 {count} 个任务，编号从 0 起：没有任务 {}",
            "the plan has {count} tasks, numbered from 0: there is no task {}",
            if tasks.start < count { tasks.end.saturating_sub(1) } else { tasks.start }
        );
        Ok(self.tasks[tasks].iter().flatten().copied())
    }

    /// Fails where a worker would compute other rows than the process that made the plan.
    fn check(&self, model: &mut PartModel<'_>) -> Result<()> {
        let kind = |device: &str| device.split(':').next().unwrap_or_default().to_owned();
        let own = model.meta.ran.as_ref().and_then(|ran| ran["device"].as_str());
        if let (Some(planned), Some(own)) = (self.device(), own) {
            ensure!(
                kind(planned) == kind(own),
                "计划在 {planned} 上制定，而本工作进程运行于 {own}，其行属于另一特征集：请用同类设备（--device），或在与各工作进程同类的机器上制定计划",
                "the plan was made on {planned}, and this worker runs on {own}, whose rows are another feature set: take the same kind of device (--device), or make the plan on a machine of the kind that the workers have"
            );
        }
        same_set(&self.spec, &model.spec)?;
        let canary = self.canary.as_ref().context(Word(
            "计划已损坏：请重新制定（inkstone plan）",
            "the plan is damaged: make it again (inkstone plan)",
        ))?;
        let documents = model.reader.part(canary.part)?;
        canary.check(&documents, model, self.mixed)
    }
}

/// Fails where this machine would compute another set than the one that was planned.
fn same_set(planned: &SetSpec, found: &SetSpec) -> Result<()> {
    ensure!(
        planned.id() == found.id(),
        "本机算出的特征集会与计划不同（{}）：请把相同的文件放到各台机器，或重新制定计划（inkstone plan）",
        "this machine would compute another feature set than the one that was planned ({}): bring the same files to all machines, or make the plan again (inkstone plan)",
        differing(planned, found)
    );
    Ok(())
}

/// The parameters in which two specifications differ.
fn differing(planned: &SetSpec, found: &SetSpec) -> String {
    let mut names: Vec<&str> = Vec::new();
    if let (Some(planned), Some(found)) = (planned.params.as_object(), found.params.as_object()) {
        names.extend(
            planned
                .keys()
                .chain(found.keys())
                .filter(|name| planned.get(*name) != found.get(*name))
                .map(String::as_str),
        );
    }
    if planned.kind != found.kind {
        names.push("columns");
    }
    if planned.fitted_until != found.fitted_until {
        names.push("fitted_until");
    }
    names.sort_unstable();
    names.dedup();
    format!("{}{}", Word("不同：", "other: "), names.join(", "))
}
