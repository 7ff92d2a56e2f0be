use serde::Deserialize;

use super::*;
use crate::Csr;
use inkstone_base::job::Ctx;

#[derive(Deserialize)]
struct Reference {
    kmeans: Vec<KMeans>,
    empty: Empty,
    trees: Trees,
}

#[derive(Deserialize)]
struct KMeans {
    rows: Vec<Vec<f32>>,
    k: usize,
    labels: Vec<u32>,
    inertia: f64,
    rounds: usize,
    centres: Vec<Vec<f64>>,
    best_inertia: f64,
}

#[derive(Deserialize)]
struct Empty {
    rows: Vec<Vec<f32>>,
    start: Vec<Vec<f64>>,
    labels: Vec<u32>,
    inertia: f64,
}

#[derive(Deserialize)]
struct Trees {
    rows: Vec<Vec<f64>>,
    cases: Vec<Tree>,
}

#[derive(Deserialize)]
struct Tree {
    method: Linkage,
    merges: Vec<[f64; 4]>,
    clusters: Vec<Vec<u32>>,
}

fn reference() -> Reference {
    serde_json::from_str(include_str!("../../../../tests/reference/clusters/clusters.json")).unwrap()
}

fn ctx(threads: usize) -> Ctx {
    Ctx::new(threads, 1).unwrap()
}

fn start(rows: &[Vec<f64>]) -> Centres {
    Centres { k: rows.len(), dim: rows[0].len(), unit: false, values: rows.concat() }
}

fn params(k: usize) -> ClusterParams {
    ClusterParams { k, as_is: true, ..ClusterParams::default() }
}

#[test]
fn from_the_same_start_rows_are_put_where_scikit_learn_puts_them() {
    for case in reference().kmeans {
        let (data, dim) = (case.rows.concat(), case.rows[0].len());
        let wanted: Vec<u32> = (0..case.rows.len() as u32).collect();
        let begin: Vec<Vec<f64>> =
            case.rows[..case.k].iter().map(|row| row.iter().map(|v| f64::from(*v)).collect()).collect();
        let rows = ClusterRows::Plain(&data, dim);
        let found = cluster(rows, &wanted, &params(case.k), Some(&start(&begin)), &ctx(2)).unwrap();
        assert_eq!((&found.labels, found.rounds), (&case.labels, case.rounds));
        assert!((found.inertia / case.inertia - 1.0).abs() < 1e-6, "{} {}", found.inertia, case.inertia);
        for (ours, theirs) in found.centres.values.iter().zip(case.centres.concat()) {
            assert!((ours - theirs).abs() < 1e-6, "{ours} {theirs}");
        }
        // From seeds of its own it comes within one per cent of the best of scikit-learn's hundred starts.
        let own = cluster(rows, &wanted, &ClusterParams { starts: 100, ..params(case.k) }, None, &ctx(2)).unwrap();
        assert!(own.inertia < case.best_inertia * 1.01, "{} {}", own.inertia, case.best_inertia);
    }
}

#[test]
fn an_empty_cluster_takes_the_farthest_row_as_in_scikit_learn() {
    let case = reference().empty;
    let (data, wanted) = (case.rows.concat(), (0..case.rows.len() as u32).collect::<Vec<_>>());
    let found = cluster(ClusterRows::Plain(&data, 2), &wanted, &params(4), Some(&start(&case.start)), &ctx(1)).unwrap();
    assert_eq!(found.labels, case.labels);
    assert!((found.inertia / case.inertia - 1.0).abs() < 1e-6);
}

#[test]
fn clusters_have_the_same_bytes_for_any_threads_and_for_sparse_rows() {
    let case = &reference().kmeans[1];
    let (data, dim) = (case.rows.concat(), case.rows[0].len());
    let wanted: Vec<u32> = (0..case.rows.len() as u32).filter(|row| row % 7 != 3).collect();
    let mut sparse = Csr::new(dim);
    case.rows.iter().for_each(|row| sparse.push_row((0..).zip(row.iter().copied())));
    for unit in [false, true] {
        let params = ClusterParams { as_is: !unit, ..params(6) };
        let all = [1, 2, 8]
            .map(|threads| cluster(ClusterRows::Plain(&data, dim), &wanted, &params, None, &ctx(threads)).unwrap());
        assert!(all[0] == all[1] && all[1] == all[2]);
        assert_eq!(cluster(ClusterRows::Sparse(&sparse), &wanted, &params, None, &ctx(2)).unwrap(), all[0]);
    }
}

#[test]
fn rows_without_a_direction_are_near_nothing_and_too_few_rows_say_so() {
    let data = [1.0, 0.0, 0.0, 0.0, f32::NAN, 1.0, 0.0, 2.0];
    let rows = ClusterRows::Plain(&data, 2);
    let found = cluster(rows, &[0, 3], &ClusterParams { k: 2, ..ClusterParams::default() }, None, &ctx(1)).unwrap();
    assert!(found.inertia < 1e-12 && found.labels[0] != found.labels[1]);
    let distances = found.centres.all_distances(rows, &[0, 1, 2, 3]);
    assert_eq!(distances.iter().map(Option::is_some).collect::<Vec<_>>(), [true, false, false, true]);
    let error = cluster(rows, &[0, 3], &params(3), None, &ctx(1)).unwrap_err().to_string();
    assert!(error.contains("2 rows do not make 3 clusters"), "{error}");
    let cancelled = ctx(1);
    cancelled.cancel();
    assert!(cluster(rows, &[0, 3], &params(2), None, &cancelled).is_err());
}

#[test]
fn merges_and_cuts_are_those_of_scipy() {
    let Trees { rows, cases } = reference().trees;
    let (data, dim, n) = (rows.concat(), rows[0].len(), rows.len());
    for case in cases {
        let merges = linkage(&data, dim, case.method, &ctx(2)).unwrap();
        for (ours, [a, b, distance, count]) in merges.iter().zip(&case.merges) {
            assert_eq!([ours.a as f64, ours.b as f64, ours.rows as f64], [*a, *b, *count], "{:?}", case.method);
            assert!((ours.distance - distance).abs() < 1e-9, "{:?}: {} {distance}", case.method, ours.distance);
        }
        for (k, theirs) in [1, 2, 5, 9].into_iter().zip(&case.clusters) {
            let ours = cut(&merges, n, k);
            let alike = |i: usize, j: usize| (ours[i] == ours[j]) == (theirs[i] == theirs[j]);
            assert!((0..n).all(|i| (0..n).all(|j| alike(i, j))), "{:?} {k}", case.method);
        }
    }
    assert!(linkage(&data[..dim], dim, Linkage::Ward, &ctx(1)).unwrap().is_empty());
    let error = linkage(&vec![0.0; 20_001], 1, Linkage::Ward, &ctx(1)).unwrap_err().to_string();
    assert!(error.contains("20001 rows are too many"), "{error}");
}

#[test]
fn means_of_labels_are_centres() {
    let centres = Centres::of_labels(&[1.0, 0.0, 3.0, 0.0, 0.0, 8.0], 2, &[0, 0, 1], false);
    assert_eq!((centres.k, centres.row(0), centres.row(1)), (2, &[2.0, 0.0][..], &[0.0, 8.0][..]));
}

#[test]
fn clusters_are_named_by_words_that_are_frequent_in_them_alone() {
    let mut words = ThemeWords::new(2);
    for (cluster, text) in [(0, "公司 回购 回购 股份"), (0, "公司 回购"), (1, "公司 订单 产能"), (1, "公司 订单")]
    {
        text.split(' ').for_each(|word| words.add(cluster, word));
    }
    let names = words.names(2);
    // Words of a cluster: 6 and 5, 5.5 on average. 回购: 3/6 ln(1 + 5.5 / 3).
    assert!((names[0][0].1 - 0.5 * (1.0f64 + 5.5 / 3.0).ln()).abs() < 1e-12);
    let words = |cluster: usize| names[cluster].iter().map(|(word, _)| word.as_str()).collect::<Vec<_>>();
    assert_eq!((words(0), words(1)), (vec!["回购", "股份"], vec!["订单", "产能"]));
}
