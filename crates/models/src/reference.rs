//! The reference numbers of `tests/reference/sklearn/classify.json` as the tests of several modules read them.

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::design::Design;
use super::sparse::Csr;

pub(crate) struct Reference {
    pub x: Design,
    pub class: Vec<u32>,
    pub up: Vec<bool>,
    pub weights: Vec<f64>,
    pub all: Value,
}

impl Reference {
    pub(crate) fn read() -> Reference {
        let all: Value = serde_json::from_str(include_str!("../../../tests/reference/sklearn/classify.json")).unwrap();
        let dense: Vec<Vec<f32>> = read(&all["x"]);
        let mut x = Csr::new(dense[0].len());
        for row in &dense {
            x.push_row((0..).zip(row).filter(|(_, v)| **v != 0.0).map(|(j, v)| (j, *v)));
        }
        let binary: Vec<u32> = read(&all["binary"]);
        let up = binary.iter().map(|&c| c == 1).collect();
        Reference { x: x.into(), class: read(&all["class"]), up, weights: read(&all["weights"]), all }
    }

    pub(crate) fn binary(&self) -> Vec<u32> {
        self.up.iter().map(|&up| u32::from(up)).collect()
    }
}

pub(crate) fn read<T: DeserializeOwned>(value: &Value) -> T {
    serde_json::from_value(value.clone()).unwrap_or_else(|e| panic!("{e}: {value}"))
}

/// The largest distance of numbers in the same places.
pub(crate) fn farthest<'a>(a: impl IntoIterator<Item = &'a f64>, b: impl IntoIterator<Item = &'a f64>) -> f64 {
    let (a, b): (Vec<&f64>, Vec<&f64>) = (a.into_iter().collect(), b.into_iter().collect());
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| (*a - b).abs()).fold(0.0, f64::max)
}
