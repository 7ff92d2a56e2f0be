//! The vectors that a head reads of a text's tokens.

use std::ops::Range;

use super::block::{BlockKind, add};
use super::encoder::EncoderShape;
use super::head::HeadForm;
use crate::neural::kernel::Real;

/// The way in which a head reads vectors `[tokens, width]`.
#[derive(Clone, Copy)]
pub(super) struct Reading {
    form: HeadForm,
    width: usize,
    /// Columns of one direction; all of them where both are one.
    units: usize,
}

impl Reading {
    pub(super) fn new(form: HeadForm, shape: &EncoderShape) -> Reading {
        let units = if shape.block.kind == BlockKind::Lstm { shape.block.units() } else { shape.block.width };
        Reading { form, width: shape.block.width, units }
    }

    /// The columns of rows that are read.
    fn columns(&self) -> Range<usize> {
        match self.form {
            HeadForm::Next => 0..self.units,
            HeadForm::Before => self.width - self.units..self.width,
            _ => 0..self.width,
        }
    }

    /// The rows, or of a head that pools a text its pooled vectors `[texts, 3 x width]`: the last state (of each direction), the greatest numbers
    /// and the means (Howard and Ruder 2018, section 3.3).
    pub(super) fn read<T: Real>(&self, x: &[T], rows: &[usize], texts: &[Range<usize>]) -> Vec<T> {
        let width = self.width;
        if !matches!(self.form, HeadForm::Pooled { .. }) {
            let columns = self.columns();
            return rows.iter().flat_map(|&row| &x[row * width..][columns.clone()]).copied().collect();
        }
        let mut pooled = Vec::with_capacity(3 * width * texts.len());
        for text in texts {
            pooled.extend((0..width).map(|column| x[self.last(text, column) * width + column]));
            pooled.extend((0..width).map(|column| x[self.greatest(x, text, column) * width + column]));
            let mut mean = vec![T::default(); width];
            text.clone().for_each(|row| add(&mut mean, &x[row * width..][..width]));
            let share = T::from_f64(1.0 / text.len() as f64);
            pooled.extend(mean.into_iter().map(|sum| sum * share));
        }
        pooled
    }

    /// Adds the gradient by what was read to that by the vectors.
    pub(super) fn add_back<T: Real>(&self, by_x: &mut [T], x: &[T], rows: &[usize], texts: &[Range<usize>], by: &[T]) {
        let width = self.width;
        if !matches!(self.form, HeadForm::Pooled { .. }) {
            let columns = self.columns();
            let by = by.chunks_exact(columns.len());
            rows.iter().zip(by).for_each(|(&row, by)| add(&mut by_x[row * width..][columns.clone()], by));
            return;
        }
        for (text, by) in texts.iter().zip(by.chunks_exact(3 * width)) {
            let share = T::from_f64(1.0 / text.len() as f64);
            for column in 0..width {
                by_x[self.last(text, column) * width + column] += by[column];
                by_x[self.greatest(x, text, column) * width + column] += by[width + column];
                let mean = by[2 * width + column] * share;
                text.clone().for_each(|row| by_x[row * width + column] += mean);
            }
        }
    }

    /// The row of the last state of a column's direction.
    fn last(&self, text: &Range<usize>, column: usize) -> usize {
        if column < self.units { text.end - 1 } else { text.start }
    }

    /// The first row with the greatest number of a column.
    fn greatest<T: Real>(&self, x: &[T], text: &Range<usize>, column: usize) -> usize {
        let number = |row: usize| x[row * self.width + column];
        text.clone().fold(text.start, |best, row| if number(row) > number(best) { row } else { best })
    }
}
