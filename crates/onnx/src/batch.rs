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
    /// Lengths are filled up to multiples of this: fewer shapes, which suits a CUDA device.
    pub step: usize,
    /// Tokens of a window at most; lengths are not filled up beyond.
    pub limit: usize,
    /// The number of windows of every batch, where the graph takes no other.
    pub rows: Option<usize>,
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
            let longest = lengths[first].max(1);
            let width = longest.next_multiple_of(self.step).min(self.limit.max(longest));
            let most = self.rows.unwrap_or(self.budget / width).max(1);
            // Windows much shorter than the first begin a batch of their own: what fills up costs as much as text.
            let alike = |window: usize| lengths[window] * 8 >= longest * 7 || lengths[window] + self.step > width;
            let count = rest.iter().take(most).take_while(|&&window| alike(window)).count().max(1);
            let (windows, after) = rest.split_at(count);
            batches.push(Batch { windows: windows.to_vec(), rows: self.rows.unwrap_or(count), width });
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
        let shapes = Shapes { budget: 20, step: 1, limit: usize::MAX, rows: None };
        let batches = shapes.batches(&[9, 3, 10, 40, 3, 0]);
        let windows: Vec<_> = batches.iter().map(|batch| (batch.windows.clone(), batch.width)).collect();
        assert_eq!(windows, [(vec![3], 40), (vec![2, 0], 10), (vec![1, 4], 3), (vec![5], 1)]);
    }

    #[test]
    fn lengths_are_filled_up_to_steps_within_the_limit() {
        let shapes = Shapes { budget: 80, step: 16, limit: 40, rows: None };
        let batches = shapes.batches(&[39, 15, 3, 17, 30, 1]);
        let seen: Vec<_> = batches.iter().map(|b| (b.windows.clone(), b.rows, b.width)).collect();
        assert_eq!(seen, [(vec![0, 4], 2, 40), (vec![3, 1], 2, 32), (vec![2, 5], 2, 16)]);
        // Where a graph takes one shape alone, each batch has it.
        let one = Shapes { budget: 80, step: 40, limit: 40, rows: Some(2) };
        let seen: Vec<_> = one.batches(&[39, 15, 3]).into_iter().map(|b| (b.windows, b.rows, b.width)).collect();
        assert_eq!(seen, [(vec![0, 1], 2, 40), (vec![2], 2, 40)]);
    }

    proptest! {
        #[test]
        fn every_window_runs_once_within_the_budget(
            lengths in prop::collection::vec(0usize..600, 0..80), budget in 1usize..2_000, step in 1usize..100, limit in 600usize..700,
        ) {
            let batches = Shapes { budget, step, limit, rows: None }.batches(&lengths);
            let mut windows: Vec<usize> = batches.iter().flat_map(|batch| batch.windows.clone()).collect();
            windows.sort_unstable();
            prop_assert!(windows.into_iter().eq(0..lengths.len()));
            for batch in &batches {
                prop_assert!(batch.rows == 1 || batch.rows * batch.width <= budget);
                prop_assert!(batch.windows.len() == batch.rows && batch.width <= limit);
                prop_assert!(batch.windows.iter().all(|&window| lengths[window] <= batch.width));
            }
        }
    }
}
