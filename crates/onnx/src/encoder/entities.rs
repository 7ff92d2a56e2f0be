//! The entities of texts with the places where they stand.

use anyhow::Result;

use super::{Encoder, Task};
use crate::heads::Entity;
use crate::task::BatchOutputs;
use inkstone_base::ensure;
use inkstone_base::job::Ctx;

impl Encoder {
    /// The entities of each text, in their order; ranges are bytes of it. What several windows read counts once: the first has it,
    /// and the second says where it ends if the first ends within it.
    pub fn entities(&mut self, texts: &[&str], ctx: &Ctx) -> Result<Vec<Vec<Entity>>> {
        let fits = matches!(self.task, Task::Entities { .. }) && self.memories.is_empty();
        ensure!(fits, "{} 不读取实体", "{} reads no entities", self.model.session.path().display());
        let windows = self.windows(texts, ctx)?;
        let mut of_windows = vec![Vec::new(); windows.windows.len()];
        for batch in self.batches(&windows) {
            let (task, family, width) = (&self.task, self.model.family.clone(), batch.width);
            let shape = [batch.rows, width];
            let found = self.model.run(&windows, &batch.windows, shape, &[], &task.wanted(), ctx, |outputs| {
                let (windows, batch) = (&windows, &batch.windows[..]);
                task.entities(BatchOutputs { outputs, windows, batch, width, family: &family })
            })?;
            for (&window, found) in batch.windows.iter().zip(found) {
                of_windows[window] = found;
            }
        }
        let mut of_texts: Vec<Vec<Entity>> = vec![Vec::new(); texts.len()];
        for (number, found) in of_windows.into_iter().enumerate() {
            let before = windows.read_before(number);
            let known = &mut of_texts[windows.windows[number].text];
            for entity in found {
                if entity.range.start >= before {
                    known.push(entity);
                } else if let Some(last) = known.last_mut()
                    && entity.range.end > before
                    && entity.label == last.label
                    && entity.range.start < last.range.end
                {
                    last.range.end = entity.range.end;
                }
            }
        }
        for (text, found) in texts.iter().zip(&mut of_texts) {
            found.iter_mut().for_each(|entity| entity.range = entity.trimmed(text));
        }
        Ok(of_texts)
    }
}
