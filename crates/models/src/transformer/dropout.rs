//! Dropout (Srivastava and others 2014): in training, numbers become 0 by chance and the others grow by as much.

use std::ops::Range;

use rand::Rng;
use rand_chacha::ChaCha8Rng;

use crate::neural::kernel::Real;

/// The factors of some numbers, 0 or 1 / (1 - rate); empty where nothing is dropped.
pub(super) struct Dropout<T>(Vec<T>);

impl<T: Real> Dropout<T> {
    /// Nothing is dropped.
    pub(super) fn none() -> Dropout<T> {
        Dropout(Vec::new())
    }

    /// Draws the factors of `count` numbers.
    pub(super) fn draw(count: usize, rate: f64, rng: &mut ChaCha8Rng) -> Dropout<T> {
        if rate == 0.0 {
            return Dropout::none();
        }
        let mut bytes = vec![0; 2 * count];
        rng.fill_bytes(&mut bytes);
        let (limit, kept) = ((rate * 65_536.0) as u16, T::from_f64(1.0 / (1.0 - rate)));
        let factor = |bytes: &[u8; 2]| if u16::from_le_bytes(*bytes) < limit { T::default() } else { kept };
        Dropout(bytes.as_chunks().0.iter().map(factor).collect())
    }

    /// Draws factors of rows `[tokens, width]` that all tokens of a text share.
    pub(super) fn draw_shared(texts: &[Range<usize>], width: usize, rate: f64, rng: &mut ChaCha8Rng) -> Dropout<T> {
        if rate == 0.0 {
            return Dropout::none();
        }
        let of_texts = Dropout::draw(texts.len() * width, rate, rng).0;
        let rows =
            texts.iter().zip(of_texts.chunks(width)).flat_map(|(text, row)| std::iter::repeat_n(row, text.len()));
        Dropout(rows.flatten().copied().collect())
    }

    /// Multiplies numbers, or gradients by these, by their factors.
    pub(super) fn apply(&self, values: &mut [T]) {
        self.apply_from(values, 0);
    }

    /// The same for numbers that stand behind `begin` others.
    pub(super) fn apply_from(&self, values: &mut [T], begin: usize) {
        if !self.0.is_empty() {
            values.iter_mut().zip(&self.0[begin..]).for_each(|(value, &factor)| *value = *value * factor);
        }
    }

    /// Numbers that stand behind `begin` others, with dropout; they are put into `room` where something is dropped.
    pub(super) fn of_part<'v>(&self, values: &'v [T], begin: usize, room: &'v mut Vec<T>) -> &'v [T] {
        if self.0.is_empty() {
            return values;
        }
        room.clear();
        room.extend_from_slice(values);
        self.apply_from(room, begin);
        room
    }
}
