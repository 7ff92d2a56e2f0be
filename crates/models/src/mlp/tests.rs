//! Gradients, PyTorch, what is learned, contributions and bad input of perceptrons.

use serde::Deserialize;

use super::net::NetPass;
use super::*;
use crate::design::{DenseRows, FoldFeatures};
use crate::neural::check::check_gradients;
use crate::neural::fit::{Network, PieceGradients};
use crate::reference::farthest;
use crate::sparse::Csr;
use crate::stacked::StackedRows;

#[derive(Deserialize)]
struct Reference {
    rate: f32,
    cells: Vec<Vec<(u32, f32)>>,
    dense: Vec<Vec<f32>>,
    values: Vec<f64>,
    two: Vec<u32>,
    three: Vec<u32>,
    labels: Vec<Vec<u32>>,
    row_weights: Vec<f64>,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    goal: String,
    hidden: Vec<usize>,
    l2: f64,
    weighted: bool,
    weights: Vec<Vec<f64>>,
    scores: Vec<f64>,
    loss: f64,
    gradients: Vec<Vec<f64>>,
    after: Vec<Vec<f64>>,
}

fn reference() -> (Reference, Design) {
    let text = include_str!("../../../../tests/reference/pytorch/mlp.json");
    let reference: Reference = serde_json::from_str(text).unwrap();
    let mut sparse = Csr::new(5);
    reference.cells.iter().for_each(|row| sparse.push_row(row.iter().copied()));
    let x = stacked(&sparse, &DenseRows::new(3, reference.dense.concat()).unwrap());
    (reference, x)
}

fn stacked(sparse: &Csr, dense: &DenseRows) -> Design {
    let rows = StackedRows { counts: None, sparse: vec![sparse], dense: Some(dense) };
    rows.fold(&Split { train: (0..sparse.rows()).collect(), ..Split::default() }).unwrap().0
}

impl Reference {
    fn goal(&self, name: &str) -> MlpGoal<'_> {
        match name {
            "values" => MlpGoal::Values(&self.values),
            "two" => MlpGoal::Classes { class: &self.two, classes: 2 },
            "three" => MlpGoal::Classes { class: &self.three, classes: 3 },
            _ => MlpGoal::Labels { labels: &self.labels, weights: vec![[1.0, 1.0]; 3] },
        }
    }
}

/// A perceptron of a case on all its rows, which are one batch.
fn with_batches<R>(
    reference: &Reference,
    x: &Design,
    case: &Case,
    dropout: f64,
    f: impl FnOnce(&Batches<'_>) -> R,
) -> R {
    let goal = reference.goal(&case.goal);
    let shape = MlpShape { sparse: 5, dense: 3, hidden: case.hidden.clone(), outputs: goal.outputs() };
    let params = MlpParams { hidden: case.hidden.clone(), dropout, l2: case.l2, ..MlpParams::default() };
    let split = Split { train: (0..x.rows()).collect(), ..Split::default() };
    let weights = case.weighted.then_some(&reference.row_weights[..]);
    let targets = Targets::new(&goal, weights, &split.train).unwrap();
    f(&Batches::new(x, &shape, &params, targets, &split))
}

fn rng() -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(3)
}

#[test]
fn scores_gradients_and_a_step_are_those_of_pytorch() {
    let (reference, x) = reference();
    let touched: Vec<u32> = (0..5).collect();
    for case in &reference.cases {
        with_batches(&reference, &x, case, 0.0, |batches| {
            let mut weights = batches.shape.start(case.l2, 1);
            for (weight, values) in weights.all.iter_mut().zip(&case.weights) {
                weight.values = values.iter().map(|&v| v as f32).collect();
            }
            let pieces = batches.batch(&batches.order(&mut rng()), 0, Vec::new(), &mut rng());
            let rows = batches.reads(&pieces);
            assert_eq!((rows[0].as_ref(), pieces.len()), (Some(&touched), 1));
            let ready = batches.ready(&weights, &rows);
            let NetPass { scores, .. } = ready.net.forward(ready.sparse, &batches.rows(&pieces[0]), &[]);
            let scores: Vec<f64> = scores.into_iter().map(f64::from).collect();
            assert!(farthest(&scores, &case.scores) < 1e-5, "{}: {scores:?}", case.goal);
            let PieceGradients { loss, by_weight, .. } = batches.gradients(&ready, &pieces[0]);
            assert!((loss / 6.0 - case.loss).abs() < 1e-5, "{}: {loss}", case.goal);
            let gradients: Vec<Vec<f32>> = by_weight.into_iter().map(|g| g.iter().map(|g| g / 6.0).collect()).collect();
            drop(ready);
            weights.step(&rows, &gradients, reference.rate);
            for (number, weight) in weights.all.iter().enumerate() {
                let near = |ours: &[f32], theirs: &[f64], what: &str| {
                    let ours: Vec<f64> = ours.iter().map(|&v| f64::from(v)).collect();
                    let off = farthest(&ours, theirs);
                    assert!(off < 1e-5, "{}: {what} of weight {number} is {off} off", case.goal);
                };
                near(&gradients[number], &case.gradients[number], "the gradient");
                near(&weight.values, &case.after[number], "the value after the step");
            }
        });
    }
}

#[test]
fn gradients_are_the_difference_quotients() {
    let (reference, x) = reference();
    for case in &reference.cases {
        with_batches(&reference, &x, case, 0.3, |batches| {
            let pieces = batches.batch(&batches.order(&mut rng()), 0, Vec::new(), &mut rng());
            check_gradients(&case.goal, case.weights.clone(), |values| {
                batches.differentiated(&batches.ready_of(values, &[0, 1, 2, 3, 4]), &pieces[0])
            });
        });
    }
}

/// Rows of two words and two dense columns: one word turns the other about, and so does the sign of the first column. No linear score of
/// the columns tells the classes apart.
fn turned() -> (Design, Vec<u32>) {
    let (mut sparse, mut dense, mut class) = (Csr::new(9), Vec::new(), Vec::new());
    for i in 0..400u32 {
        let (not, up, sign) = (i & 1, (i >> 1) & 1, (i >> 2) & 1);
        // The word 6 stands for a text without the turning word.
        let mut cells = vec![(up, 1.0), (2 + i % 3, 0.5)];
        cells.push(if not == 1 { (5, 1.0) } else { (6, 1.0) });
        sparse.push_row(cells);
        dense.extend([sign as f32 * 4.0 - 1.0, (i % 7) as f32]);
        class.push(not ^ up ^ sign);
    }
    (stacked(&sparse, &DenseRows::new(2, dense).unwrap()), class)
}

fn params() -> MlpParams {
    MlpParams { hidden: vec![16], learning_rate: 0.02, batch: 50, ..MlpParams::default() }
}

fn fitted(x: &Design, goal: &MlpGoal<'_>, params: &MlpParams, threads: usize) -> Result<(Mlp, Convergence)> {
    let (test, train) = (0..x.rows()).partition(|i| i % 10 == 7);
    let ctx = Ctx::new(threads, 5).unwrap();
    ctx.install(|| Mlp::fit(x, goal, None, &Split { train, test, ..Split::default() }, params, &ctx))
}

#[test]
fn what_no_line_parts_is_learned() {
    let (x, class) = turned();
    let two_layers = MlpParams { hidden: vec![16, 8], dropout: 0.1, ..params() };
    for params in [params(), two_layers] {
        let (mlp, convergence) = fitted(&x, &MlpGoal::Classes { class: &class, classes: 2 }, &params, 2).unwrap();
        let right =
            mlp.scores(&x).iter().zip(&class).filter(|(score, class)| (**score > 0.0) == (**class == 1)).count();
        assert!(right >= 398, "{params:?}: {right} of 400, {convergence:?}");
    }
    let values: Vec<f64> = class.iter().map(|&c| 100.0 + 0.02 * f64::from(c)).collect();
    let (mlp, _) = fitted(&x, &MlpGoal::Values(&values), &params(), 2).unwrap();
    let off = farthest(&mlp.scores(&x), &values);
    assert!(off < 0.005, "values of any level and size are learned: {off}");
    let labels: Vec<Vec<u32>> = class.iter().map(|&c| if c == 1 { vec![0, 2] } else { vec![1] }).collect();
    let goal = MlpGoal::Labels { labels: &labels, weights: vec![[1.0, 1.0]; 3] };
    let (mlp, _) = fitted(&x, &goal, &params(), 2).unwrap();
    for (scores, labels) in mlp.scores(&x).chunks(3).zip(&labels) {
        assert!((0..3).all(|label| (scores[label] > 0.0) == labels.contains(&(label as u32))), "{scores:?} {labels:?}");
    }
}

#[test]
fn training_ends_when_held_out_rows_say_so() {
    let (x, mut class) = turned();
    let (_, found) = fitted(&x, &MlpGoal::Classes { class: &class, classes: 2 }, &params(), 1).unwrap();
    assert!(found.converged || found.iterations == 200, "{found:?}");
    // Nothing can be learned of classes that are drawn: what is learned by heart shows at once.
    let mut rng = rng();
    rand::seq::SliceRandom::shuffle(&mut class[..], &mut rng);
    let (_, found) = fitted(&x, &MlpGoal::Classes { class: &class, classes: 2 }, &params(), 1).unwrap();
    assert!(found.converged && found.iterations < 40, "{found:?}");
    let short = MlpParams { epochs: 1, ..params() };
    let (_, found) = fitted(&x, &MlpGoal::Classes { class: &class, classes: 2 }, &short, 1).unwrap();
    assert!(!found.converged && found.iterations == 1);
}

#[test]
fn contributions_sum_to_the_score_and_belong_to_the_row() {
    let (x, class) = turned();
    let three: Vec<u32> = class.iter().enumerate().map(|(i, &c)| if i % 5 == 0 { 2 } else { c }).collect();
    for hidden in [vec![16], vec![16, 8], vec![8, 8, 8]] {
        let params = MlpParams { hidden, epochs: 30, ..params() };
        let (mlp, _) = fitted(&x, &MlpGoal::Classes { class: &three, classes: 3 }, &params, 2).unwrap();
        let scores = mlp.scores(&x);
        for i in [0, 5, 77, 123] {
            for (output, against) in [(0, None), (2, Some(1))] {
                let (base, parts) = mlp.explain(x.row(i), output, against);
                let sum = base + parts.iter().map(|(_, part)| part).sum::<f64>();
                let score = |k: usize| scores[3 * i + k];
                let expected = score(output) - against.map_or(0.0, score);
                assert!((sum - expected).abs() < 1e-5 * (1.0 + expected.abs()), "{params:?}: {sum} and {expected}");
                assert!(parts.iter().map(|(column, _)| *column).eq(x.row(i).iter().map(|(column, _)| column)));
            }
        }
    }
}

#[test]
fn contributions_are_the_mean_of_gradients_along_the_way() {
    const STEPS: usize = 20_000;
    let (x, class) = turned();
    let params = MlpParams { hidden: vec![6, 5], epochs: 20, ..params() };
    let (mlp, _) = fitted(&x, &MlpGoal::Classes { class: &class, classes: 2 }, &params, 1).unwrap();
    let row: Vec<(u32, f64)> = x.row(9).iter().collect();
    let (_, parts) = mlp.explain(x.row(9), 0, None);
    // The score of t x, and by differences its derivative by each column, summed over many small steps.
    let score = |cells: &[(u32, f64)]| -> f64 {
        let exact =
            |w: &[f32], at: usize, dim: usize| w[at * dim..][..dim].iter().map(|&w| f64::from(w)).collect::<Vec<_>>();
        let mut units: Vec<f64> = exact(&mlp.weights[2], 0, 6);
        for &(column, value) in cells {
            let column = column as usize;
            let row =
                if column < 9 { exact(&mlp.weights[0], column, 6) } else { exact(&mlp.weights[1], column - 9, 6) };
            units.iter_mut().zip(row).for_each(|(sum, w)| *sum += value * w);
        }
        for (number, dim) in [(3, 5), (5, 1)] {
            let mut next = exact(&mlp.weights[number + 1], 0, dim);
            for (at, unit) in units.iter().enumerate() {
                next.iter_mut()
                    .zip(exact(&mlp.weights[number], at, dim))
                    .for_each(|(sum, w)| *sum += unit.max(0.0) * w);
            }
            units = next;
        }
        units[0]
    };
    for (at, &(column, part)) in parts.iter().enumerate() {
        let gradient = |t: f64| {
            let shifted = |by: f64| {
                let mut cells: Vec<(u32, f64)> = row.iter().map(|&(column, value)| (column, t * value)).collect();
                cells[at].1 += by;
                score(&cells)
            };
            (shifted(1e-7) - shifted(-1e-7)) / 2e-7
        };
        let mean = (0..STEPS).map(|i| gradient((i as f64 + 0.5) / STEPS as f64)).sum::<f64>() / STEPS as f64;
        assert!((part - mean * row[at].1).abs() < 1e-3, "column {column}: {part} and {}", mean * row[at].1);
    }
}

#[test]
fn the_weights_are_the_same_whatever_the_threads() {
    let (x, class) = turned();
    let params = MlpParams { hidden: vec![9, 4], dropout: 0.2, batch: 150, epochs: 5, ..params() };
    let bytes = [1, 2, 8].map(|threads| {
        fitted(&x, &MlpGoal::Classes { class: &class, classes: 2 }, &params, threads).unwrap().0.to_bytes()
    });
    assert!(bytes[0] == bytes[1] && bytes[1] == bytes[2]);
    let (mlp, _) = fitted(&x, &MlpGoal::Classes { class: &class, classes: 2 }, &params, 2).unwrap();
    let read = Mlp::from_numbers(mlp.shape.clone(), bytemuck::cast_slice(&bytes[0])).unwrap();
    let all = read.scores(&x);
    assert_eq!(all, mlp.scores(&x));
    // A row has its bits whatever it is computed beside.
    assert!((0..x.rows()).all(|i| read.scores(&x.select(&[i])) == all[i..=i]));
    let error = Mlp::from_numbers(mlp.shape, &[0.0; 7]).unwrap_err().to_string();
    assert!(error.contains("7 weights"), "{error}");
}

#[test]
fn what_cannot_work_is_told() {
    let (x, class) = turned();
    let goal = MlpGoal::Classes { class: &class, classes: 2 };
    let refused = |params: MlpParams| format!("{:#}", fitted(&x, &goal, &params, 1).unwrap_err());
    assert!(refused(MlpParams { hidden: vec![], ..params() }).contains("hidden = []"));
    assert!(refused(MlpParams { hidden: vec![4, 0], ..params() }).contains("hidden = [4, 0]"));
    assert!(refused(MlpParams { dropout: 1.0, ..params() }).contains("dropout = 1 must be"));
    assert!(refused(MlpParams { l2: -1.0, ..params() }).contains("l2 = -1 must be"));
    assert!(refused(MlpParams { learning_rate: 0.0, ..params() }).contains("learning_rate = 0 must be"));
    assert!(refused(MlpParams { batch: 0, ..params() }).contains("batch = 0"));
    let error = refused(MlpParams { hidden: vec![10_000, 10_000], ..params() });
    assert!(error.contains("more than memory_mb = 2048: lower hidden"), "{error}");
    let error = refused(MlpParams { learning_rate: 1e30, ..params() });
    assert!(error.contains("no number") || error.contains("no longer a number"), "{error}");
    assert!(error.contains("lower the learning rate"), "{error}");
}
