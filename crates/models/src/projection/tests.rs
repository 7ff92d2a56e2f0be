//! Planes against scikit-learn's; neighbourhoods of made clusters; threads; cancelling.

use serde_json::Value;

use super::*;
use crate::reference::read;
use crate::unit;
use inkstone_base::job::Cancelled;

const DIM: usize = 8;

fn reference() -> (Vec<f32>, Value) {
    let all: Value = serde_json::from_str(include_str!("../../../../tests/reference/sklearn/projection.json")).unwrap();
    let rows: Vec<Vec<f32>> = read(&all["rows"]);
    (rows.iter().flat_map(|row| unit(row)).collect(), all)
}

fn found(rows: &[f32], ctx: &Ctx) -> Result<Vec<[f64; 2]>> {
    let nearest = Nearest::new(rows, DIM).unwrap();
    tsne(&nearest, &pca(rows, DIM, ctx)?.0, Tsne { perplexity: 12.0, epochs: 1000 }, ctx)
}

/// Venna and Kaski (2001): 1 less what is lost by points that come near without being so, among five neighbours.
fn trustworthiness(rows: &[f32], points: &[[f64; 2]]) -> f64 {
    let (n, k) = (points.len(), 5);
    let order = |distance: &dyn Fn(usize) -> f64, row: usize| {
        let mut others: Vec<usize> = (0..n).filter(|&other| other != row).collect();
        others.sort_by(|&a, &b| distance(a).total_cmp(&distance(b)));
        others
    };
    let mut lost = 0;
    for row in 0..n {
        let far = |other: usize| {
            let row_at = |i: usize| &rows[i * DIM..][..DIM];
            row_at(other).iter().zip(row_at(row)).map(|(a, b)| f64::from(a - b).powi(2)).sum::<f64>()
        };
        let near = |other: usize| (0..2).map(|axis| (points[other][axis] - points[row][axis]).powi(2)).sum::<f64>();
        let among = order(&far, row);
        for other in order(&near, row).into_iter().take(k) {
            let rank = among.iter().position(|&known| known == other).unwrap() + 1;
            lost += rank.saturating_sub(k);
        }
    }
    1.0 - 2.0 / (n * k * (2 * n - 3 * k - 1)) as f64 * lost as f64
}

#[test]
fn principal_components_are_those_of_scikit_learn() {
    let (rows, all) = reference();
    let (points, explained) = pca(&rows, DIM, &Ctx::new(2, 1).unwrap()).unwrap();
    let (expected, shares): (Vec<[f64; 2]>, [f64; 2]) = (read(&all["pca"]), read(&all["explained"]));
    for (point, expected) in points.iter().zip(&expected) {
        assert!((0..2).all(|axis| (point[axis] - expected[axis]).abs() < 2e-6), "{point:?} {expected:?}");
    }
    assert!((0..2).all(|axis| (explained[axis] - shares[axis]).abs() < 1e-6), "{explained:?} {shares:?}");
}

#[test]
fn neighbourhoods_are_kept_as_well_as_by_scikit_learn_on_any_number_of_threads() {
    let (rows, all) = reference();
    let mut first: Option<Vec<[f64; 2]>> = None;
    for threads in [1, 2, 8] {
        let ctx = Ctx::new(threads, 1).unwrap();
        let points = found(&rows, &ctx).unwrap();
        assert!(*first.get_or_insert_with(|| points.clone()) == points, "others with {threads} threads");
    }
    let points = first.unwrap();
    let (ours, theirs) = (trustworthiness(&rows, &points), all["tsne_trustworthiness"].as_f64().unwrap());
    assert!(ours > theirs - 0.005, "{ours} {theirs}");
    let nearest = Nearest::new(&rows[..], DIM).unwrap();
    let ctx = Ctx::new(2, 1).unwrap();
    let kept = neighbours_kept(&nearest, &points, &ctx).unwrap();
    // scikit-learn counts each row among its own ten.
    assert!(kept > 0.7 && all["tsne_kept"].as_f64().unwrap() > 0.7, "{kept}");
    let flat = neighbours_kept(&nearest, &pca(&rows, DIM, &ctx).unwrap().0, &ctx).unwrap();
    assert!(flat < kept, "{flat} {kept}");
}

#[test]
fn kept_neighbours_are_counted() {
    // Twelve rows around a circle; a line keeps the order but for the ends.
    let angle = |i: usize| (i as f64 * 0.2).sin_cos();
    let rows: Vec<f32> = (0..12).flat_map(|i| [angle(i).0 as f32, angle(i).1 as f32]).collect();
    let nearest = Nearest::new(&rows[..], 2).unwrap();
    let ctx = Ctx::new(1, 1).unwrap();
    let line: Vec<[f64; 2]> = (0..12).map(|i| [f64::from(i), 0.0]).collect();
    assert_eq!(neighbours_kept(&nearest, &line, &ctx).unwrap(), 1.0);
    // With the farthest beside it, each end has one of ten in the wrong place.
    let mut moved = line.clone();
    moved[11] = [-1.0, 0.0];
    assert!(neighbours_kept(&nearest, &moved, &ctx).unwrap() < 1.0);
}

#[test]
fn a_cancelled_descent_ends_at_once_and_what_has_no_plane_is_told() {
    let (rows, _) = reference();
    let ctx = Ctx::new(2, 1).unwrap();
    let nearest = Nearest::new(&rows[..], DIM).unwrap();
    let start = pca(&rows, DIM, &ctx).unwrap().0;
    let watched = ctx.clone();
    let wait = std::thread::spawn(move || {
        while !watched.progress().stages().iter().any(|stage| stage.name == "t-sne" && stage.done > 10) {
            std::thread::yield_now();
        }
        watched.cancel();
    });
    let endless = Tsne { perplexity: 12.0, epochs: usize::MAX };
    let error = tsne(&nearest, &start, endless, &ctx).unwrap_err();
    assert!(error.is::<Cancelled>(), "{error}");
    wait.join().unwrap();
    let ctx = Ctx::new(1, 1).unwrap();
    assert!(pca(&[1.0, 2.0], 1, &ctx).unwrap_err().to_string().contains("vectors of one value"));
    assert!(pca(&[1.0; 8], 2, &ctx).unwrap_err().to_string().contains("the same vector"));
}
