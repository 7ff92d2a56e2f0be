//! The marginal effect of each setting: the mean of the figures of all cells that share a value, over every combination of the others.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::findings::Cell;
use inkstone_base::bootstrap::{Comparison, compare};

/// The setting that stands for the feature of a cell.
const FEATURE: &str = "feature";

/// Effect of one value of a setting on the figure, averaged over the other settings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Effect {
    /// Path of the setting; `feature` for which feature it is.
    pub setting: String,
    pub value: String,
    /// Cells with this value: one for each combination of the others that has a figure at every value.
    pub cells: u64,
    /// Mean of their figures.
    pub figure: f64,
    /// Comparison with the baseline's value, paired by the combinations and the draws, and corrected for the values of the setting; none
    /// for that value itself.
    pub against: Option<Comparison>,
}

/// The effects of all settings that have several values; none where a single setting varies, whose effects are the cells themselves.
/// `figures` are those of the cells and `draws` `[draws][cells]`.
pub(super) fn effects(
    paths: &[String],
    cells: &[Cell],
    baseline: usize,
    figures: &[f64],
    draws: &[Vec<f64>],
    confidence: f64,
) -> Vec<Effect> {
    let coordinates: Vec<Vec<&str>> = cells
        .iter()
        .map(|cell| std::iter::once(&cell.feature).chain(&cell.values).map(String::as_str).collect())
        .collect();
    let names: Vec<&str> = std::iter::once(FEATURE).chain(paths.iter().map(String::as_str)).collect();
    let values_of = |axis: usize| {
        let mut values: Vec<&str> = Vec::new();
        for cell in &coordinates {
            if !values.contains(&cell[axis]) {
                values.push(cell[axis]);
            }
        }
        values
    };
    let axes: Vec<(usize, Vec<&str>)> =
        (0..names.len()).map(|axis| (axis, values_of(axis))).filter(|(_, values)| values.len() > 1).collect();
    if axes.len() < 2 {
        return Vec::new();
    }
    let mut effects = Vec::new();
    for (axis, values) in axes {
        let groups = complete_groups(axis, &values, &coordinates, figures);
        if groups.is_empty() {
            continue;
        }
        let n = groups.len() as f64;
        let mean = |figures: &[f64], value: usize| groups.iter().map(|group| figures[group[value]]).sum::<f64>() / n;
        let means = |figures: &[f64]| (0..values.len()).map(|value| mean(figures, value)).collect::<Vec<f64>>();
        let (found, drawn) = (means(figures), draws.iter().map(|draw| means(draw)).collect::<Vec<_>>());
        let base = values.iter().position(|value| *value == coordinates[baseline][axis]).unwrap_or(0);
        let compared: Vec<usize> = (0..values.len()).filter(|value| *value != base).collect();
        let comparisons = compare(&found, &drawn, base, &compared, confidence);
        effects.extend(values.iter().enumerate().map(|(number, value)| Effect {
            setting: names[axis].to_owned(),
            value: (*value).to_owned(),
            cells: groups.len() as u64,
            figure: found[number],
            against: compared.iter().position(|other| *other == number).map(|at| comparisons[at]),
        }));
    }
    effects
}

/// The cells of each combination of the other settings, one for each value of this one; those that lack a figure are left out.
fn complete_groups(axis: usize, values: &[&str], coordinates: &[Vec<&str>], figures: &[f64]) -> Vec<Vec<usize>> {
    let mut groups: BTreeMap<Vec<&str>, Vec<Option<usize>>> = BTreeMap::new();
    for (number, cell) in coordinates.iter().enumerate().filter(|(number, _)| figures[*number].is_finite()) {
        let others = cell.iter().enumerate().filter(|(other, _)| *other != axis).map(|(_, value)| *value).collect();
        let group = groups.entry(others).or_insert_with(|| vec![None; values.len()]);
        if let Some(at) = values.iter().position(|value| *value == cell[axis]) {
            group[at] = Some(number);
        }
    }
    groups.into_values().filter_map(|group| group.into_iter().collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(layers: &str, pooling: &str) -> Cell {
        Cell { feature: "bert".into(), values: vec![layers.into(), pooling.into()], ..Cell::default() }
    }

    #[test]
    fn an_effect_is_the_mean_over_the_others_and_a_setting_without_one_has_p_1() {
        let paths = ["onnx.layers".to_owned(), "onnx.pooling".to_owned()];
        let cells = [cell("last", "cls"), cell("last", "mean"), cell("first", "cls"), cell("first", "mean")];
        // The layer makes 0.2, and pooling nothing.
        let figures = [0.5, 0.5, 0.7, 0.7];
        let draws: Vec<Vec<f64>> =
            (0..99).map(|i| f64::from(i % 9) / 100.0).map(|e| vec![0.5 - e, 0.5 - e, 0.7 + e, 0.7 + e]).collect();
        let found = effects(&paths, &cells, 0, &figures, &draws, 0.95);
        let shown: Vec<(&str, &str, u64)> =
            found.iter().map(|e| (e.setting.as_str(), e.value.as_str(), e.cells)).collect();
        assert_eq!(
            shown,
            [
                ("onnx.layers", "last", 2),
                ("onnx.layers", "first", 2),
                ("onnx.pooling", "cls", 2),
                ("onnx.pooling", "mean", 2)
            ]
        );
        let layer = found[1].against.unwrap();
        assert!((layer.difference - 0.2).abs() < 1e-12 && layer.p_adjusted < 0.05, "{layer:?}");
        assert!(layer.interval.low > 0.19 && layer.interval.high < 0.37, "{layer:?}");
        let pooling = found[3].against.unwrap();
        assert_eq!((pooling.difference, pooling.p, pooling.p_adjusted), (0.0, 1.0, 1.0));
        assert_eq!((found[0].against, found[0].figure), (None, 0.5));
    }

    #[test]
    fn a_combination_that_lacks_a_cell_is_left_out_of_the_mean() {
        let paths = ["onnx.layers".to_owned(), "onnx.pooling".to_owned()];
        let cells = [cell("last", "cls"), cell("last", "mean"), cell("first", "cls")];
        let draws = vec![vec![0.5, 0.6, 0.7]; 100];
        let found = effects(&paths, &cells, 0, &[0.5, 0.6, 0.7], &draws, 0.95);
        let layers: Vec<(u64, f64)> = found[..2].iter().map(|effect| (effect.cells, effect.figure)).collect();
        assert_eq!(layers, [(1, 0.5), (1, 0.7)], "the mean of the last layer is that of cls alone");
        // One setting alone is told by its cells.
        let alone = [cell("last", "cls"), cell("first", "cls")];
        assert_eq!(effects(&paths, &alone, 0, &[0.5, 0.7], &draws, 0.95), []);
    }
}
