//! The companies that each company supplies, over which what is said of a customer moves its suppliers.

use std::io::Write as _;
use std::path::Path;

use anyhow::Result;
use rand::RngExt;
use rand::seq::index;

use super::calendar::Calendar;
use super::companies::Company;
use super::rng::{Stream, rng};
use inkstone_base::disk;

/// Customers of each company.
const CUSTOMERS: usize = 3;
/// Share of the ties that become known while the market goes on, and the days among which theirs is drawn.
const LATER: f64 = 0.2;
const LATER_DAYS: usize = 240;

/// A company that supplies another.
#[derive(Debug)]
pub(super) struct SupplyTie {
    pub(super) supplier: usize,
    pub(super) customer: usize,
    /// Day at whose end the tie becomes known; none: before the first day.
    announced: Option<usize>,
}

impl SupplyTie {
    /// True if the tie was known when the day began.
    pub(super) fn known_on(&self, day: usize) -> bool {
        self.announced.is_none_or(|announced| announced < day)
    }
}

/// All ties, in the order of their suppliers.
pub(super) fn supply_ties(companies: usize, seed: u64) -> Vec<SupplyTie> {
    let mut rng = rng(seed, Stream::Relations, 0);
    let mut ties = Vec::new();
    for supplier in 0..companies {
        let others = index::sample(&mut rng, companies - 1, CUSTOMERS.min(companies - 1)).into_vec();
        for other in others {
            let customer = if other < supplier { other } else { other + 1 };
            let announced = rng.random_bool(LATER).then(|| rng.random_range(0..LATER_DAYS));
            ties.push(SupplyTie { supplier, customer, announced });
        }
    }
    ties
}

/// Writes the table of relations, a row for each tie.
pub(super) fn write(path: &Path, ties: &[SupplyTie], companies: &[Company], calendar: &Calendar) -> Result<()> {
    disk::write_atomic(path, |out| {
        writeln!(out, "代码,客户代码,关系类型,公告日期")?;
        for tie in ties {
            let [supplier, customer] = [tie.supplier, tie.customer].map(|i| &companies[i].code);
            let day = tie.announced.map_or_else(|| "2022-12-30".to_owned(), |t| calendar.days()[t].to_string());
            writeln!(out, "{supplier},{customer},供应,{day}")?;
        }
        Ok(())
    })
}

/// Mean of the values of a company's customers, `[days, companies]`; NaN where none of them has one.
pub(super) fn spread(values: &[f64], width: usize, ties: &[SupplyTie]) -> Vec<f64> {
    let (mut sums, mut counts) = (vec![0.0; values.len()], vec![0u32; values.len()]);
    for t in 0..values.len() / width {
        for tie in ties.iter().filter(|tie| tie.known_on(t)) {
            let value = values[t * width + tie.customer];
            if !value.is_nan() {
                sums[t * width + tie.supplier] += value;
                counts[t * width + tie.supplier] += 1;
            }
        }
    }
    sums.iter().zip(counts).map(|(sum, count)| if count > 0 { sum / f64::from(count) } else { f64::NAN }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_company_supplies_three_others_and_some_ties_are_known_later() {
        let ties = supply_ties(200, 1);
        assert_eq!(ties.len(), 600);
        assert!(ties.iter().all(|tie| tie.supplier != tie.customer));
        for of_supplier in ties.chunk_by(|a, b| a.supplier == b.supplier) {
            let [a, b, c] = of_supplier else { panic!("{of_supplier:?}") };
            assert!(a.customer != b.customer && b.customer != c.customer && a.customer != c.customer);
        }
        let later = ties.iter().filter(|tie| tie.announced.is_some()).count();
        assert!((80..160).contains(&later), "{later}");
    }

    #[test]
    fn the_mean_is_that_of_known_customers_with_a_value() {
        let tie = |customer, announced| SupplyTie { supplier: 0, customer, announced };
        let ties = [tie(1, None), tie(2, Some(0))];
        let values = [f64::NAN, 1.0, 3.0, f64::NAN, 1.0, 3.0, f64::NAN, f64::NAN, 3.0];
        let spread = spread(&values, 3, &ties);
        assert_eq!([spread[0], spread[3], spread[6]], [1.0, 2.0, 3.0]);
        assert!(spread[1].is_nan() && spread[5].is_nan());
    }
}
