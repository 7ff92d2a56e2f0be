//! Windows put together to run at once: of like lengths, and within a budget of tokens, filling included.
//!
//! A budget of tokens bounds memory and keeps speed, where a count of documents bounds neither. Batches depend on the windows alone,
//! so the same text gives the same batches whatever ran before: values in single precision change with the shape of a batch in
//! their last digits.

/// Rules by which windows become batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shapes {
    /// Tokens of a batch at most, filling included; a window that is longer has a batch of its own.
    pub budget: usize,
    /// Lengths are filled up to multiples of this, and batches to the full number of windows: few shapes, which suits a CUDA device.
    pub step: Option<usize>,
}

/// Windows that run at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// Their numbers, by length, then number.
    pub windows: Vec<usize>,
    /// Windows of the shape; those beyond the list are empty.
    pub rows: usize,
    /// Tokens of each.
    pub width: usize,
}

impl Shapes {
    /// The batches of windows of these lengths, longest first, so that what memory they need is known at once.
    pub(crate) fn batches(&self, lengths: &[usize]) -> Vec<Batch> {
        let mut order: Vec<usize> = (0..lengths.len()).collect();
        order.sort_by_key(|&window| (std::cmp::Reverse(lengths[window]), window));
        let mut batches: Vec<Batch> = Vec::new();
        let mut rest = order.as_slice();
        while let Some(&first) = rest.first() {
            let width = self.step.map_or(lengths[first], |step| lengths[first].next_multiple_of(step)).max(1);
            let most = (self.budget / width).max(1);
            // Windows much shorter than the first begin a batch of their own: what fills up costs as much as text.
            let alike = |window: usize| {
                self.step.map_or(lengths[window] * 8 >= width * 7, |step| lengths[window] + step > width)
            };
            let count = rest.iter().take(most).take_while(|&&window| alike(window)).count().max(1);
            let (windows, after) = rest.split_at(count);
            let rows = if self.step.is_some() { most } else { count };
            batches.push(Batch { windows: windows.to_vec(), rows, width });
            rest = after;
        }
        batches
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn like_lengths_run_together() {
        let shapes = Shapes { budget: 20, step: None };
        let batches = shapes.batches(&[9, 3, 10, 40, 3, 0]);
        let windows: Vec<_> = batches.iter().map(|batch| (batch.windows.clone(), batch.width)).collect();
        assert_eq!(windows, [(vec![3], 40), (vec![2, 0], 10), (vec![1, 4], 3), (vec![5], 1)]);
    }

    #[test]
    fn a_device_sees_few_shapes() {
        let shapes = Shapes { budget: 512, step: Some(64) };
        let lengths: Vec<usize> = (0..300).map(|i| 1 + (i * 37) % 190).collect();
        let mut seen: Vec<(usize, usize)> = shapes.batches(&lengths).iter().map(|b| (b.rows, b.width)).collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen, [(2, 192), (4, 128), (8, 64)]);
    }

    proptest! {
        #[test]
        fn every_window_runs_once_within_the_budget(
            lengths in prop::collection::vec(0usize..600, 0..80), budget in 1usize..2_000, step in prop::option::of(1usize..100),
        ) {
            let batches = Shapes { budget, step }.batches(&lengths);
            let mut windows: Vec<usize> = batches.iter().flat_map(|batch| batch.windows.clone()).collect();
            windows.sort_unstable();
            prop_assert!(windows.into_iter().eq(0..lengths.len()));
            for batch in &batches {
                prop_assert!(batch.rows == 1 || batch.rows * batch.width <= budget);
                prop_assert!(batch.windows.len() <= batch.rows);
                prop_assert!(batch.windows.iter().all(|&window| lengths[window] <= batch.width));
            }
        }
    }
}
