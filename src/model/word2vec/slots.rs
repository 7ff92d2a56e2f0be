//! The rows of a matrix that a piece of the corpus needs, as a copy of its own that it can change.
//!
//! What other pieces do at the same time is not seen; when all are done, what each has added is added to the matrix, in the
//! order of the pieces.

use super::matrix::{Lane, Matrix};

const NONE: u32 = u32::MAX;

/// Numbers rows in the order in which they are first needed. One a thread and matrix.
pub(super) struct Slots {
    /// Number of each row of the matrix.
    slots: Vec<u32>,
    needed: Vec<u32>,
}

impl Slots {
    pub(super) fn new(rows: usize) -> Slots {
        Slots { slots: vec![NONE; rows], needed: Vec::new() }
    }

    /// The number of a row.
    #[inline(always)]
    pub(super) fn of(&mut self, row: u32) -> u32 {
        let slot = &mut self.slots[row as usize];
        if *slot == NONE {
            *slot = self.needed.len() as u32;
            self.needed.push(row);
        }
        *slot
    }
}

/// How much of a change a row takes, and where a matrix is cut so that several threads can add to it.
///
/// A row that a block uses up to [`SUMMED`] times takes the sum of what its pieces have added, as if they had worked one after
/// the other. More steps from the same beginning, side by side, would reach too far and at last diverge: beyond it a row takes
/// a share in proportion, down to the mean over the pieces, which is never farther than the farthest of them.
pub(super) struct Parts {
    /// The first rows of all parts but the first.
    before: Vec<u32>,
    /// The part of each row.
    parts: Vec<u8>,
    /// What a row takes of a change.
    shares: Vec<f32>,
}

/// Uses of a row in a block up to which changes are summed.
const SUMMED: f64 = 64.0;
/// Parts of a matrix.
const PARTS: usize = 16;

impl Parts {
    /// For rows that a piece uses so many times, of blocks of so many pieces.
    pub(super) fn new(uses: impl Iterator<Item = f64>, pieces: usize) -> Parts {
        let uses: Vec<f64> = uses.collect();
        let pieces = pieces as f64;
        let share = |&uses: &f64| (SUMMED / (uses * pieces)).clamp(1.0 / pieces, 1.0) as f32;
        let shares = uses.iter().map(share).collect();
        let mut parts = Parts { before: Vec::new(), parts: Vec::with_capacity(uses.len()), shares };
        // A piece adds to a row once, however often it uses it.
        let (total, mut seen) = (uses.iter().map(|uses| uses.min(1.0)).sum::<f64>(), 0.0);
        for (row, uses) in (0..).zip(&uses) {
            let full = seen > total * (parts.before.len() + 1) as f64 / PARTS as f64;
            if full && parts.before.len() + 1 < PARTS {
                parts.before.push(row);
            }
            parts.parts.push(parts.before.len() as u8);
            seen += uses.min(1.0);
        }
        parts
    }

    /// The parts of a matrix.
    pub(super) fn of<'a>(&self, matrix: &'a mut Matrix) -> Vec<&'a mut [Lane]> {
        matrix.cut(&self.before)
    }

    /// The first row of a part.
    fn first(&self, part: usize) -> u32 {
        if part == 0 { 0 } else { self.before[part - 1] }
    }
}

/// A copy of some rows, and afterwards what was added to them.
#[derive(Default)]
pub(super) struct Copied {
    pub(super) values: Vec<Lane>,
    rows: Vec<u32>,
    /// Numbers of the copied rows, part by part.
    order: Vec<u32>,
    /// Where each part ends in `order`.
    ends: Vec<u32>,
}

impl Copied {
    /// Copies what is needed, and makes `slots` ready for the next piece.
    #[inline(always)]
    pub(super) fn take(&mut self, slots: &mut Slots, matrix: &Matrix) {
        std::mem::swap(&mut self.rows, &mut slots.needed);
        slots.needed.clear();
        self.values.clear();
        for &row in &self.rows {
            slots.slots[row as usize] = NONE;
            self.values.extend_from_slice(matrix.row(row));
        }
    }

    /// Leaves what was added, sorted by the parts of the matrix.
    #[inline(always)]
    pub(super) fn subtract(&mut self, matrix: &Matrix, of: &Parts) {
        for (values, &row) in self.values.chunks_exact_mut(matrix.lanes()).zip(&self.rows) {
            let share = of.shares[row as usize];
            for (value, before) in values.iter_mut().zip(matrix.row(row)) {
                *value = value.minus(*before, share);
            }
        }
        self.ends.clear();
        self.ends.resize(of.before.len() + 1, 0);
        self.rows.iter().for_each(|&row| self.ends[of.parts[row as usize] as usize] += 1);
        let mut sum = 0;
        for end in &mut self.ends {
            sum += *end;
            *end = sum - *end;
        }
        self.order.resize(self.rows.len(), 0);
        for (slot, &row) in (0..).zip(&self.rows) {
            let place = &mut self.ends[of.parts[row as usize] as usize];
            self.order[*place as usize] = slot;
            *place += 1;
        }
    }

    /// Adds what was added to a part of the matrix.
    #[inline(always)]
    pub(super) fn add_to(&self, part: usize, of: &Parts, values: &mut [Lane], lanes: usize) {
        let first = of.first(part);
        let from = if part == 0 { 0 } else { self.ends[part - 1] as usize };
        for &slot in &self.order[from..self.ends[part] as usize] {
            let row = self.rows[slot as usize] - first;
            let to = &mut values[row as usize * lanes..][..lanes];
            for (to, added) in to.iter_mut().zip(&self.values[slot as usize * lanes..][..lanes]) {
                *to = to.plus(1.0, *added);
            }
        }
    }
}
