//! A book day by day: rebalanced when it is due, drifting with prices in between.

use std::ops::Range;

use super::orders::{Blocked, Holding, Order, Side, to_weights, towards};
use super::{lots, topk};
use crate::backtest::Params;
use crate::backtest::cross::{Cross, Prices};
use inkstone_market::Market;

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Content {
    /// The names of a quantile.
    Quantile(u16),
    /// All names, by their value less the mean of the day; absolute weights sum to 1 (`factor_weights` of alphalens).
    Factor,
    /// The best names, with a buffer.
    Top,
}

/// A book day by day, `[days]` from the first entry on.
#[derive(Default)]
pub(super) struct Track {
    /// Return of what is held, of a short book too.
    pub returns: Vec<f64>,
    /// One-way turnover, share of the book.
    pub turnover: Vec<f64>,
    /// Costs, share of the book.
    pub cost: Vec<f64>,
    /// Least traded value of a name over the share of the book ordered in it, in CNY; NaN on a day without such an order.
    pub room: Vec<f64>,
    /// Share of the book that lots left in cash, by rebalancing.
    pub idle: Vec<f64>,
    pub filled: u64,
    pub delisted: u64,
    /// Orders that were not filled, by reason.
    pub blocked: Blocked,
}

/// Inputs that all books share.
pub(super) struct Floor<'a> {
    pub crosses: &'a [Cross],
    pub market: &'a Market,
    pub prices: &'a Prices<'a>,
    pub params: &'a Params,
    /// Numbers of the dates of entry.
    pub span: Range<usize>,
}

impl Floor<'_> {
    /// Runs a book over the span.
    pub(super) fn simulate(&self, content: Content, side: Side) -> Track {
        let mut track = Track::default();
        let mut held: Vec<Holding> = Vec::new();
        let mut next = self.crosses.iter().skip_while(|c| c.entry < self.span.start).peekable();
        let mut due = self.span.start;
        let mut capital = self.params.capital;
        for e in self.span.clone() {
            let cross = next.next_if(|c| c.entry == e);
            let (mut bought, mut sold, mut room) = (0.0, 0.0, f64::NAN);
            // A day without values puts the rebalancing off to the next day that has some.
            if let Some(cross) = cross.filter(|_| e >= due) {
                due = e + self.params.rebalance;
                held.retain(|h| !self.prices.delisted(e, h.name as usize));
                let mut orders = self.orders(&held, cross, content, side, &mut track.blocked);
                if self.params.capital > 0.0 {
                    let price = |i: u32| self.prices.mark(e, i as usize);
                    let board = |i: u32| self.market.board(i as usize);
                    let funded = content != Content::Factor;
                    track.idle.push(lots::round(&mut orders, capital, funded, price, board, &mut track.blocked));
                }
                for order in orders.iter().filter(|order| order.is_filled()) {
                    let change = order.change();
                    if change > 0.0 {
                        bought += change
                    } else {
                        sold -= change
                    }
                    track.filled += 1;
                    let i = order.name as usize;
                    let value = self.market.traded_value(e, i, self.prices.mark(e, i));
                    room = room.min(value / change.abs());
                }
                held.clear();
                let kept = orders.iter().filter(|order| order.to != 0.0);
                held.extend(kept.map(|order| Holding { name: order.name, weight: order.to }));
            }
            // Selling costs more than buying (stamp duty), and a short position is opened by a sale.
            let (buys, sells) = if side == Side::Long { (bought, sold) } else { (sold, bought) };
            track.cost.push(self.params.cost(buys, sells));
            track.turnover.push((bought + sold) / 2.0);
            track.room.push(room);
            let total = drift(&mut held, |i| self.prices.held_return(i as usize, e));
            track.returns.push(total);
            capital *= 1.0 + total;
            let delisted = |h: &&Holding| {
                let i = h.name as usize;
                self.prices.delisted(e + 1, i) && !self.prices.delisted(e, i)
            };
            track.delisted += held.iter().filter(delisted).count() as u64;
        }
        track
    }

    fn orders(
        &self,
        held: &[Holding],
        cross: &Cross,
        content: Content,
        side: Side,
        blocked: &mut Blocked,
    ) -> Vec<Order> {
        let gate = |i: u32| self.prices.gate(cross.entry, i as usize);
        match content {
            Content::Quantile(q) => {
                let members = (0..cross.names.len()).filter(|&k| cross.quantiles[k] == q);
                let weight = |k: usize| cross.weight(k, self.market, self.params);
                let target: Vec<Holding> = members
                    .map(|k| Holding { name: cross.names[k], weight: weight(k) })
                    .filter(|h| !h.weight.is_nan())
                    .collect();
                towards(held, &target, side, gate, blocked)
            }
            Content::Factor => to_weights(held, &factor_weights(cross), gate, blocked),
            Content::Top => {
                let Params { top, drop, .. } = *self.params;
                let rule = topk::HoldingRule { top, drop, python: self.params.rules().python_slices };
                topk::orders(held, (&cross.names, &cross.values), rule, gate, blocked)
            }
        }
    }
}

/// Values less their mean, scaled so that their absolute values sum to 1.
pub(super) fn factor_weights(cross: &Cross) -> Vec<Holding> {
    let mean = inkstone_base::stats::mean(cross.values.iter().copied());
    let gross: f64 = cross.values.iter().map(|value| (value - mean).abs()).sum();
    // Values that are all alike differ from their mean by rounding alone.
    if gross <= 1e-12 * mean.abs() {
        return Vec::new();
    }
    let weight = |(&name, value): (&u32, &f64)| Holding { name, weight: (value - mean) / gross };
    cross.names.iter().zip(&cross.values).map(weight).collect()
}

/// The return of a book over a day, whose weights then drift with the prices.
fn drift(held: &mut [Holding], one_day: impl Fn(u32) -> f64) -> f64 {
    let returns: Vec<f64> = held.iter().map(|h| one_day(h.name)).collect();
    let total: f64 = held.iter().zip(&returns).map(|(h, r)| h.weight * r).sum();
    for (holding, r) in held.iter_mut().zip(returns) {
        holding.weight *= (1.0 + r) / (1.0 + total);
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_drift_with_prices() {
        let mut held = [Holding { name: 1, weight: 0.5 }, Holding { name: 2, weight: 0.5 }];
        let total = drift(&mut held, |i| if i == 1 { 0.2 } else { 0.0 });
        assert!((total - 0.1).abs() < 1e-15 && (held[0].weight - 0.6 / 1.1).abs() < 1e-15);
    }

    #[test]
    fn a_book_of_short_positions_gains_when_they_fall() {
        let mut held = [Holding { name: 1, weight: -0.5 }, Holding { name: 2, weight: 0.5 }];
        let total = drift(&mut held, |i| if i == 1 { -0.2 } else { 0.0 });
        assert!((total - 0.1).abs() < 1e-15 && (held[0].weight + 0.4 / 1.1).abs() < 1e-15);
    }
}
