//! Results that carry their horizon.

use std::ops::Index;

/// A result for each horizon (trading days), in the order of the parameters.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ByHorizon<T>(Vec<(usize, T)>);

impl<T> ByHorizon<T> {
    /// Horizons with their results.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &T)> {
        self.0.iter().map(|(horizon, result)| (*horizon, result))
    }

    /// The results without their horizons.
    pub(super) fn values(&self) -> impl Iterator<Item = &T> {
        self.0.iter().map(|(_, result)| result)
    }

    pub(super) fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.0.iter_mut().map(|(_, result)| result)
    }

    /// The result at a horizon.
    pub fn get(&self, horizon: usize) -> Option<&T> {
        self.iter().find(|(at, _)| *at == horizon).map(|(_, result)| result)
    }

    /// A result of each result, at the same horizons.
    pub(super) fn map<'a, U>(&'a self, result: impl Fn(&'a T) -> U) -> ByHorizon<U> {
        self.iter().map(|(horizon, before)| (horizon, result(before))).collect()
    }
}

impl<T> FromIterator<(usize, T)> for ByHorizon<T> {
    fn from_iter<I: IntoIterator<Item = (usize, T)>>(results: I) -> ByHorizon<T> {
        ByHorizon(results.into_iter().collect())
    }
}

impl<T> Index<usize> for ByHorizon<T> {
    type Output = T;

    fn index(&self, horizon: usize) -> &T {
        self.get(horizon).expect("results are made for all horizons of the parameters")
    }
}
