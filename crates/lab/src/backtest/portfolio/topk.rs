//! The book of the best names with a buffer, as Qlib's `TopkDropoutStrategy` (`method_sell` bottom, `method_buy` top,
//! `hold_thresh` 1, `only_tradable` false).
//!
//! At a rebalancing the best names that are not held, `drop` of them and as many as there are places free, stand beside those
//! that are held. Of all these the `drop` worst are sold, as far as they are held: so no name is sold for a worse one. The
//! best of the others fill the places. Who is bought and sold is decided without a look at what can be traded; an order
//! that cannot be filled is left, its cash too. Purchases share the cash equally (Qlib's `risk_degree` being 1), and what is
//! held on is not brought back to equal weights. Equal values are taken in the order of codes.

use std::cmp::Ordering;

use super::orders::{Blocked, Holding, NOTHING, Order};
use inkstone_market::Gate;

/// Numbers of names that are held, and that are replaced at most.
#[derive(Clone, Copy)]
pub(super) struct HoldingRule {
    pub top: usize,
    pub drop: usize,
    /// True if a negative number of names is one from the end, as in the slices of Python that Qlib takes them by: it comes
    /// up when sales failed and more than `top` names are held. Otherwise it is none.
    pub python: bool,
}

/// Orders of a day on which `names`, ascending, have `values`.
pub(super) fn orders(
    held: &[Holding],
    (names, values): (&[u32], &[f64]),
    rule: HoldingRule,
    gate: impl Fn(u32) -> Gate,
    blocked: &mut Blocked,
) -> Vec<Order> {
    let value = |name: u32| names.binary_search(&name).map_or(f64::NAN, |k| values[k]);
    let by_value = |a: &(u32, f64), b: &(u32, f64)| descending(a.1, b.1).then(a.0.cmp(&b.0));
    let last: Vec<(u32, f64)> = held.iter().map(|h| (h.name, value(h.name))).collect();
    let is_held = |name: u32| held.binary_search_by_key(&name, |h| h.name).is_ok();
    let mut today: Vec<(u32, f64)> =
        names.iter().copied().zip(values.iter().copied()).filter(|(name, _)| !is_held(*name)).collect();
    let wanted = first_n(today.len(), (rule.drop + rule.top) as i64 - last.len() as i64, rule.python);
    if wanted < today.len() {
        today.select_nth_unstable_by(wanted, by_value);
        today.truncate(wanted);
    }
    today.sort_unstable_by(by_value);

    let mut all = last.clone();
    all.extend(&today);
    all.sort_unstable_by(by_value);
    let mut sell: Vec<u32> = all[all.len().saturating_sub(rule.drop)..]
        .iter()
        .map(|(name, _)| *name)
        .filter(|name| is_held(*name))
        .collect();
    sell.sort_unstable();
    let places = (sell.len() + rule.top) as i64 - last.len() as i64;
    today.truncate(first_n(today.len(), places, rule.python));

    let mut orders: Vec<Order> = Vec::with_capacity(held.len() + today.len());
    let mut cash = 1.0;
    for &Holding { name, weight } in held {
        let mut to = weight;
        if sell.binary_search(&name).is_ok() {
            let gate = gate(name);
            if gate.can_sell() { to = 0.0 } else { blocked.exit(gate) }
        }
        cash -= to;
        orders.push(Order { name, from: weight, to });
    }
    let share = cash.max(0.0) / today.len() as f64;
    for (name, _) in today {
        let gate = gate(name);
        match gate.can_buy() {
            true if share > NOTHING => orders.push(Order { name, from: 0.0, to: share }),
            true => blocked.count("no cash was left to buy"),
            false => blocked.entry(gate),
        }
    }
    orders.sort_unstable_by_key(|order| order.name);
    orders
}

/// Names without a value come last.
fn descending(a: f64, b: f64) -> Ordering {
    b.partial_cmp(&a).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

/// Length of the slice of the first `n` of `len` names.
fn first_n(len: usize, n: i64, python: bool) -> usize {
    match usize::try_from(n) {
        Ok(n) => n.min(len),
        Err(_) if python => len.saturating_sub(n.unsigned_abs() as usize),
        Err(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(
        held: &[u32],
        values: &[f64],
        top: usize,
        drop: usize,
        gate: impl Fn(u32) -> Gate,
    ) -> (Vec<(u32, f64)>, Blocked) {
        let held: Vec<Holding> = held.iter().map(|&name| Holding { name, weight: 1.0 / held.len() as f64 }).collect();
        let there: Vec<u32> = (0..values.len() as u32).filter(|&i| !values[i as usize].is_nan()).collect();
        let known: Vec<f64> = there.iter().map(|&i| values[i as usize]).collect();
        let mut blocked = Blocked::default();
        let orders = orders(&held, (&there, &known), HoldingRule { top, drop, python: false }, gate, &mut blocked);
        (orders.iter().filter(|o| o.to != 0.0).map(|o| (o.name, o.to)).collect(), blocked)
    }

    #[test]
    fn the_worst_held_go_for_better_ones_only() {
        let values = [5.0, 4.0, 3.0, 2.0, 1.0, 0.0];
        let free = |_| Gate::Free;
        assert_eq!(day(&[], &values, 2, 1, free).0, [(0, 0.5), (1, 0.5)]);
        // 0 and 1 are better than 4 and 5, but one name a day is replaced.
        assert_eq!(day(&[4, 5], &values, 2, 1, free).0, [(0, 0.5), (4, 0.5)]);
        assert_eq!(day(&[0, 1], &values, 2, 1, free).0, [(0, 0.5), (1, 0.5)], "nobody is better");
        assert_eq!(day(&[0, 2], &values, 2, 2, free).0, [(0, 0.5), (1, 0.5)]);
        let gone = [f64::NAN, 4.0, 3.0, 2.0];
        assert_eq!(day(&[0, 3], &gone, 2, 1, free).0, [(1, 0.5), (3, 0.5)], "without a value it is the worst");
        assert_eq!(day(&[], &[1.0, 1.0, 1.0], 2, 1, free).0, [(0, 0.5), (1, 0.5)], "equal values by code");
    }

    #[test]
    fn an_order_that_cannot_be_filled_leaves_its_cash_and_its_place() {
        let values = [5.0, 4.0, 3.0, 2.0];
        let (held, blocked) = day(&[], &values, 2, 1, |i| if i == 0 { Gate::LockedUp } else { Gate::Free });
        assert_eq!((held, blocked.0["could not be entered"]), (vec![(1, 0.5)], 1));
        let (held, blocked) = day(&[2, 3], &values, 2, 1, |i| if i == 3 { Gate::LockedDown } else { Gate::Free });
        assert_eq!((held, blocked.0["could not be left"]), (vec![(2, 0.5), (3, 0.5)], 1));
        assert_eq!(blocked.0["no cash was left to buy"], 1);
    }

    #[test]
    fn more_names_than_places_buy_nothing_but_by_pythons_slices() {
        assert_eq!(
            [first_n(5, 3, true), first_n(5, -2, true), first_n(5, -2, false), first_n(1, -2, true)],
            [3, 3, 0, 0]
        );
    }
}
