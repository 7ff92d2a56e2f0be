//! An estimator as sections of a model file.

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::{Estimator, Task};
use crate::ModelFile;
use crate::calibration::Calibrator;
use crate::learner::{Link, Method};
use crate::linear::Convergence;

use inkstone_base::ensure;
use inkstone_base::language::Word;

/// All of an estimator but its numbers.
#[derive(Serialize, Deserialize)]
struct Plain {
    method: Method,
    task: Task,
    link: Link,
    calibrators: Vec<Calibrator>,
    convergence: Vec<Convergence>,
}

impl Estimator {
    /// Sections of a model file: `estimator` (JSON), and those of its scores.
    pub fn sections(&self) -> Result<Vec<(&'static str, Vec<u8>)>> {
        let plain = Plain {
            method: self.method,
            task: self.task.clone(),
            link: self.link,
            calibrators: self.calibrators.clone(),
            convergence: self.convergence.clone(),
        };
        let mut sections = vec![("estimator", serde_json::to_vec(&plain)?)];
        sections.extend(self.scorer.sections()?);
        Ok(sections)
    }

    /// Reads back [`Estimator::sections`]; rows have `columns` columns.
    pub fn from_file(file: &ModelFile, columns: usize) -> Result<Estimator> {
        let plain: Plain = serde_json::from_slice(file.bytes("estimator")?).context(Word(
            "estimator 一节损坏或属于另一版本；请重新训练",
            "the section estimator is damaged or of another version; train the model again",
        ))?;
        let scorer = plain.method.learner().read(file, columns)?;
        let Plain { method, task, link, calibrators, convergence } = plain;
        let estimator = Estimator { method, task, link, scorer, calibrators, convergence };
        let outputs = estimator.outputs();
        let expected = match &estimator.task {
            Task::Classes(names) if names.len() == 2 => 1,
            Task::Classes(names) | Task::Labels(names) => names.len(),
            Task::Values => 1,
        };
        ensure!(
            outputs == expected && (estimator.calibrators.is_empty() || estimator.calibrators.len() == outputs),
            "模型有 {outputs} 个输出，却写了 {expected} 个名称；请重新训练",
            "the model has {outputs} outputs, but {expected} are named; train it again"
        );
        Ok(estimator)
    }
}
