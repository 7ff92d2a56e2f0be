//! Orders rounded down to the lots of the exchanges.
//!
//! Main boards and ChiNext trade lots of 100 shares; the STAR market at least 200 shares and then every number; the Beijing
//! exchange at least 100 and then every number; a code that tells no board counts as the main boards do. What remains of a
//! holding can always be sold as a whole. A purchase that is left with too little cash, because sales were rounded
//! down as well, shrinks in proportion with all others of the day.

use super::orders::{Blocked, Order};
use inkstone_market::Board;

/// The number of shares of an order at most, by its board; `shares` is positive.
fn round_down(shares: f64, board: Option<Board>) -> f64 {
    // Weights that drifted give back their whole number of shares but for rounding.
    let shares_held = (shares + 1e-6).floor();
    match board {
        Some(Board::Star) if shares_held < 200.0 => 0.0,
        Some(Board::Bse) if shares_held < 100.0 => 0.0,
        Some(Board::Star | Board::Bse) => shares_held,
        Some(Board::Main | Board::Chinext) | None => (shares_held / 100.0).floor() * 100.0,
    }
}

/// Rounds the orders of a book of `capital` CNY; gives the share of the capital that so stays in cash. `price` and `board` are
/// those of a name; `funded`: whether purchases are paid from the book's own cash, as they are unless it is short elsewhere.
pub(super) fn round(
    orders: &mut Vec<Order>,
    capital: f64,
    funded: bool,
    price: impl Fn(u32) -> f64,
    board: impl Fn(u32) -> Option<Board>,
    blocked: &mut Blocked,
) -> f64 {
    let invested = |orders: &[Order]| orders.iter().map(|order| order.to.abs()).sum::<f64>();
    let wanted = invested(orders);
    let fit = |order: &Order, change: f64| {
        let price = price(order.name);
        let shares = round_down(change.abs() * capital / price, board(order.name));
        (shares * price / capital).copysign(change)
    };
    for order in orders.iter_mut().filter(|o| o.is_filled() && (o.change() < 0.0 || !funded) && o.to != 0.0) {
        order.to = order.from + fit(order, order.change());
    }
    if funded {
        let is_purchase = |order: &Order| order.is_filled() && order.change() > 0.0;
        let kept: f64 = orders.iter().map(|o| if is_purchase(o) { o.from } else { o.to }).sum();
        let purchases: f64 = orders.iter().filter(|o| is_purchase(o)).map(Order::change).sum();
        let scale = ((1.0 - kept) / purchases).clamp(0.0, 1.0);
        for order in orders.iter_mut().filter(|o| is_purchase(o)) {
            order.to = order.from + fit(order, order.change() * scale);
        }
    }
    orders.retain(|order| {
        let nothing = order.from == 0.0 && order.to == 0.0;
        if nothing {
            blocked.count("less than a lot");
        }
        !nothing
    });
    wanted - invested(orders)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lots_depend_on_the_board() {
        let by = |shares, board| round_down(shares, Some(board));
        assert_eq!(
            [by(99.0, Board::Main), by(250.0, Board::Main), by(399.999_999_9, Board::Chinext)],
            [0.0, 200.0, 400.0]
        );
        assert_eq!([by(199.0, Board::Star), by(200.0, Board::Star), by(201.7, Board::Star)], [0.0, 200.0, 201.0]);
        assert_eq!([by(99.0, Board::Bse), by(101.0, Board::Bse)], [0.0, 101.0]);
        assert_eq!(round_down(150.0, None), 100.0);
    }

    #[test]
    fn what_rounding_leaves_stays_in_cash() {
        // 10,000 CNY on prices of 9, 30 and 70: a third buys 370 -> 300, 111 -> 100, and 47 -> no share.
        let third = |name| Order { name, from: 0.0, to: 1.0 / 3.0 };
        let mut orders = vec![third(0), third(1), third(2)];
        let mut blocked = Blocked::default();
        let price = |i: u32| [9.0, 30.0, 70.0][i as usize];
        let idle = round(&mut orders, 10_000.0, true, price, |_| None, &mut blocked);
        assert_eq!(orders.iter().map(|o| (o.name, o.to)).collect::<Vec<_>>(), [(0, 0.27), (1, 0.3)]);
        assert!((idle - 0.43).abs() < 1e-12 && blocked.0["less than a lot"] == 1);
    }

    #[test]
    fn purchases_never_cost_more_than_the_cash_and_a_remainder_is_sold_whole() {
        // Half of 250 shares at 20 CNY is to go; 100 can, so 3,000 CNY stay in them and 7,000, not 7,500, are there to buy.
        let mut orders = vec![
            Order { name: 0, from: 0.5, to: 0.25 },
            Order { name: 1, from: 0.35, to: 0.0 },
            Order { name: 2, from: 0.0, to: 0.75 },
        ];
        let price = |i: u32| [20.0, 10.0, 10.0][i as usize];
        let idle = round(&mut orders, 10_000.0, true, price, |_| None, &mut Blocked::default());
        assert!((orders[0].to - 0.3).abs() < 1e-12 && orders[1].to == 0.0, "{orders:?}");
        assert!((orders[2].to - 0.7).abs() < 1e-12, "{orders:?}");
        assert!(idle.abs() < 1e-12);
        let mut odd = vec![Order { name: 0, from: 0.033, to: 0.0 }];
        round(&mut odd, 10_000.0, true, |_| 10.0, |_| None, &mut Blocked::default());
        assert_eq!(odd[0].to, 0.0, "33 shares are sold at once");
    }
}
