//! From what a book holds and what it ought to hold to orders, as far as they can be filled.
//!
//! A name that cannot be traded keeps its weight. In a book of weights that sum to 1 the others share what remains of the
//! capital; in the factor-weighted one, whose short positions pay for the long ones, they keep the weight they ought to have.

use std::collections::BTreeMap;
use std::iter::Peekable;

use inkstone_market::Gate;

/// Changes of weight smaller than this are no orders.
pub(super) const NOTHING: f64 = 1e-12;

/// Direction of a book. The weights of a short book are positive, and it opens them by selling.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Side {
    Long,
    Short,
}

impl Side {
    pub(super) fn can_enter(self, gate: Gate) -> bool {
        if self == Side::Long { gate.can_buy() } else { gate.can_sell() }
    }

    pub(super) fn can_leave(self, gate: Gate) -> bool {
        if self == Side::Long { gate.can_sell() } else { gate.can_buy() }
    }
}

/// A name and its share of the book's capital; negative where the factor-weighted book is short.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Holding {
    pub name: u32,
    pub weight: f64,
}

/// Weights of one name before and after a rebalancing; equal where nothing is ordered.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Order {
    pub name: u32,
    pub from: f64,
    pub to: f64,
}

impl Order {
    pub(super) fn change(&self) -> f64 {
        self.to - self.from
    }

    pub(super) fn is_filled(&self) -> bool {
        self.change().abs() > NOTHING
    }
}

/// Orders that were not filled, by reason.
#[derive(Default)]
pub(super) struct Blocked(pub BTreeMap<&'static str, u64>);

impl Blocked {
    pub(super) fn entry(&mut self, gate: Gate) {
        self.count(if gate.is_one_price() {
            "could not be entered, one price all day"
        } else {
            "could not be entered"
        });
    }

    pub(super) fn exit(&mut self, gate: Gate) {
        self.count(if gate.is_one_price() { "could not be left, one price all day" } else { "could not be left" });
    }

    pub(super) fn count(&mut self, reason: &'static str) {
        *self.0.entry(reason).or_default() += 1;
    }
}

/// Orders that move a book towards `target`: names, ascending, with weights of any sum.
pub(super) fn towards(
    held: &[Holding],
    target: &[Holding],
    side: Side,
    gate: impl Fn(u32) -> Gate,
    blocked: &mut Blocked,
) -> Vec<Order> {
    let mut orders = Vec::with_capacity(held.len() + target.len());
    // Places of the names that can be traded, and what they ought to weigh.
    let mut open: Vec<(usize, f64)> = Vec::with_capacity(target.len());
    let mut stuck = 0.0;
    for (name, from, ought) in union(held, target) {
        let gate = gate(name);
        let mut to = 0.0;
        match (from, ought) {
            (Some(weight), None) if !side.can_leave(gate) => {
                blocked.exit(gate);
                to = weight;
            }
            (Some(_), Some(share)) if gate == Gate::Free => open.push((orders.len(), share)),
            (Some(weight), Some(_)) => to = weight,
            (None, Some(share)) if side.can_enter(gate) => open.push((orders.len(), share)),
            (None, Some(_)) => {
                blocked.entry(gate);
                continue;
            }
            (_, None) => {}
        }
        stuck += to;
        orders.push(Order { name, from: from.unwrap_or(0.0), to });
    }
    let shares: f64 = open.iter().map(|(_, share)| share).sum();
    for (place, share) in open {
        orders[place].to = (1.0 - stuck).max(0.0) * share / shares;
    }
    orders
}

/// Orders that give a book of long and short positions the weights of `target`, names ascending.
pub(super) fn to_weights(
    held: &[Holding],
    target: &[Holding],
    gate: impl Fn(u32) -> Gate,
    blocked: &mut Blocked,
) -> Vec<Order> {
    let order = |(name, from, ought): (u32, Option<f64>, Option<f64>)| {
        let (from, to) = (from.unwrap_or(0.0), ought.unwrap_or(0.0));
        let gate = gate(name);
        let possible = if to > from { gate.can_buy() } else { gate.can_sell() };
        if possible || (to - from).abs() <= NOTHING {
            return Order { name, from, to };
        }
        if from == 0.0 {
            blocked.entry(gate)
        } else {
            blocked.exit(gate)
        }
        Order { name, from, to: from }
    };
    union(held, target).map(order).filter(|order| order.from != 0.0 || order.to != 0.0).collect()
}

/// Names that are held or ought to be, ascending, with either weight.
fn union(held: &[Holding], target: &[Holding]) -> impl Iterator<Item = (u32, Option<f64>, Option<f64>)> {
    let (mut held, mut target) = (held.iter().peekable(), target.iter().peekable());
    std::iter::from_fn(move || {
        let name = match (held.peek(), target.peek()) {
            (Some(a), Some(b)) => a.name.min(b.name),
            (Some(one), None) | (None, Some(one)) => one.name,
            (None, None) => return None,
        };
        Some((name, take(&mut held, name), take(&mut target, name)))
    })
}

fn take<'a>(holdings: &mut Peekable<impl Iterator<Item = &'a Holding>>, name: u32) -> Option<f64> {
    holdings.next_if(|holding| holding.name == name).map(|holding| holding.weight)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holdings(weights: &[(u32, f64)]) -> Vec<Holding> {
        weights.iter().map(|&(name, weight)| Holding { name, weight }).collect()
    }

    fn after(orders: &[Order]) -> Vec<Holding> {
        orders.iter().filter(|o| o.to != 0.0).map(|o| Holding { name: o.name, weight: o.to }).collect()
    }

    // 1 is locked down and cannot be sold, 4 is locked up and cannot be bought.
    fn gate(i: u32) -> Gate {
        match i {
            1 => Gate::LockedDown,
            4 => Gate::LockedUp,
            _ => Gate::Free,
        }
    }

    #[test]
    fn what_cannot_be_traded_keeps_its_weight_and_the_rest_is_shared() {
        let mut blocked = Blocked::default();
        let held = holdings(&[(1, 0.3), (2, 0.5), (3, 0.2)]);
        // 2 is sold, 3 stays, 5 is bought.
        let target = holdings(&[(3, 1.0), (4, 1.0), (5, 1.0)]);
        let orders = towards(&held, &target, Side::Long, gate, &mut blocked);
        assert_eq!(after(&orders), holdings(&[(1, 0.3), (3, 0.35), (5, 0.35)]));
        assert_eq!(blocked.0, BTreeMap::from([("could not be entered", 1), ("could not be left", 1)]));
        // The short leg may open at the upper limit and close at the lower.
        let orders = towards(&holdings(&[(1, 1.0)]), &holdings(&[(4, 1.0)]), Side::Short, gate, &mut blocked);
        assert_eq!(after(&orders), holdings(&[(4, 1.0)]));
        // By capitalisation: what is left goes out as 1 to 3.
        let capped = towards(&held, &holdings(&[(3, 10.0), (5, 30.0)]), Side::Long, gate, &mut blocked);
        assert_eq!(after(&capped), holdings(&[(1, 0.3), (3, 0.7 * 10.0 / 40.0), (5, 0.7 * 30.0 / 40.0)]));
    }

    #[test]
    fn a_day_of_one_price_has_a_reason_of_its_own() {
        let mut blocked = Blocked::default();
        let shut = |_| Gate::OnePriceUp;
        assert!(towards(&[], &holdings(&[(4, 1.0)]), Side::Long, shut, &mut blocked).is_empty());
        assert_eq!(blocked.0, BTreeMap::from([("could not be entered, one price all day", 1)]));
    }

    #[test]
    fn a_book_of_both_signs_buys_and_sells_by_direction() {
        let mut blocked = Blocked::default();
        let held = holdings(&[(1, 0.2), (4, -0.3)]);
        // 1 would be sold at its lower limit, 4 bought back at its upper one; 2 and 3 are opened.
        let target = holdings(&[(1, -0.1), (2, 0.5), (3, -0.2), (4, 0.2)]);
        let orders = to_weights(&held, &target, gate, &mut blocked);
        assert_eq!(after(&orders), holdings(&[(1, 0.2), (2, 0.5), (3, -0.2), (4, -0.3)]));
        assert_eq!(blocked.0, BTreeMap::from([("could not be left", 2)]));
        // The other way round both can be done.
        let turned = to_weights(&held, &holdings(&[(1, 0.4), (4, -0.5)]), gate, &mut blocked);
        assert_eq!(after(&turned), holdings(&[(1, 0.4), (4, -0.5)]));
    }
}
