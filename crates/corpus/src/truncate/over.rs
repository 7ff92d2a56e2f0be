//! The rows of a document's windows as one row.

use super::Over;

/// Makes one row of the rows of windows, each with its weight. A window whose row has NaN does not count; where none counts the result
/// is NaN. Where no window is salient all count alike.
pub fn combine(over: Over, windows: &[(&[f32], f64)], out: &mut [f32]) {
    let counted = || windows.iter().filter(|(row, _)| row.iter().all(|value| !value.is_nan()));
    let mean = |weight: &dyn Fn(f64) -> f64, out: &mut [f32]| {
        let total: f64 = counted().map(|&(_, salience)| weight(salience)).sum();
        for (column, out) in out.iter_mut().enumerate() {
            let sum: f64 = counted().map(|&(row, salience)| weight(salience) * f64::from(row[column])).sum();
            *out = (sum / total) as f32;
        }
    };
    match over {
        _ if counted().next().is_none() => out.fill(f32::NAN),
        Over::First => out.copy_from_slice(counted().next().expect("there is a window").0),
        Over::Max => {
            out.fill(f32::NEG_INFINITY);
            counted().for_each(|(row, _)| out.iter_mut().zip(*row).for_each(|(out, value)| *out = out.max(*value)));
        }
        Over::Salience if counted().any(|(_, salience)| *salience > 0.0) => mean(&|salience| salience, out),
        Over::Mean | Over::Salience => mean(&|_| 1.0, out),
    }
}
