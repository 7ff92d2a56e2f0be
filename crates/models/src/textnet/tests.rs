//! Gradients, known answers, padding, threads and bad input of the classifiers.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::batches::ReadyNet;
use super::*;
use crate::neural::FitParams;
use crate::neural::check::check_gradients;
use crate::neural::fit::Network;
use crate::{ModelFile, Training};

fn params(kind: TextNetKind, pool: Pool) -> TextNetParams {
    let fit = FitParams { epochs: 30, batch: 40, lr: 0.02, held_out_share: 0.1, ..FitParams::default() };
    TextNetParams {
        kind,
        dim: 4,
        widths: vec![2, 3],
        maps: 3,
        hidden: 3,
        pool,
        dropout: 0.2,
        fit,
        ..TextNetParams::default()
    }
}

fn recurrent(cell: Cell, layers: &[Reads], pool: Pool) -> TextNetParams {
    TextNetParams { cell, layers: layers.to_vec(), ..params(TextNetKind::TextRnn, pool) }
}

/// A network of each form.
fn all() -> [TextNetParams; 8] {
    use Reads::{Both, Forward};
    [
        params(TextNetKind::TextCnn, Pool::Max),
        params(TextNetKind::TextCnn, Pool::Mean),
        recurrent(Cell::Lstm, &[Both], Pool::Max),
        recurrent(Cell::Lstm, &[Both], Pool::Last),
        recurrent(Cell::Lstm, &[Both, Forward], Pool::Last),
        recurrent(Cell::Gru, &[Both], Pool::Mean),
        recurrent(Cell::Gru, &[Forward, Both], Pool::Max),
        recurrent(Cell::Gru, &[Forward, Both, Both], Pool::Last),
    ]
}

fn words() -> Vec<Box<str>> {
    ["公司", "不", "增长", "下滑", "利润"].map(Box::from).into()
}

/// 不 turns 增长 and 下滑 about: no bag of words tells these classes apart.
fn examples() -> Examples {
    let (mut documents, mut class) = (Vec::new(), Vec::new());
    for i in 0..160u32 {
        let (no, up) = (i & 1, (i >> 1) & 1);
        let clause = if no == 1 { vec![1, 3 - up] } else { vec![0, 3 - up] };
        let around = [4, 0, 4][..(i as usize >> 2) % 4].to_vec();
        documents.push(if i & 64 == 0 { [clause, around].concat() } else { [around, clause].concat() });
        class.push(no ^ up);
    }
    Examples { documents, goal: Goal::Classes { class, names: vec!["差".to_owned(), "好".to_owned()] } }
}

/// The same texts with the labels 否定 and 上升, and those of both.
fn labelled() -> Examples {
    let documents = examples().documents;
    let row =
        |document: &Vec<u32>| (0..2).filter(|&label| document.contains(&[1, 2][label as usize])).collect::<Vec<u32>>();
    let labels = documents.iter().map(row).collect();
    Examples { documents, goal: Goal::Labels { labels, names: vec!["否定".to_owned(), "上升".to_owned()] } }
}

fn class_of(examples: &Examples) -> &[u32] {
    let Goal::Classes { class, .. } = &examples.goal else { panic!("the examples have classes") };
    class
}

fn trained(params: &TextNetParams, threads: usize) -> Result<TextNet> {
    TextNet::train(&examples(), words(), None, params, None, &Ctx::new(threads, 3).unwrap())
}

#[test]
fn gradients_are_the_difference_quotients() {
    // Texts of unlike length, one of them empty and one shorter than a window.
    let documents = || vec![vec![0, 1, 2, 3, 4], vec![5, 1], vec![3], vec![], vec![2, 2, 0]];
    let names = || vec!["a".to_owned(), "b".to_owned(), "c".to_owned()];
    let classes = Goal::Classes { class: vec![0, 1, 2, 1, 0], names: names() };
    let labels = Goal::Labels { labels: vec![vec![0, 2], vec![1], vec![], vec![0, 1, 2], vec![1]], names: names() };
    for (goal, channels) in [(classes.clone(), Channels::Tuned), (labels, Channels::Both), (classes, Channels::Static)]
    {
        let examples = Examples { documents: documents(), goal };
        for params in all() {
            let fit = FitParams { held_out_share: 0.0, ..params.fit.clone() };
            let params = TextNetParams { fit, channels, ..params };
            let mut rng = ChaCha8Rng::seed_from_u64(11);
            let weights = start(&words(), 3, None, &params, 5);
            let mut draw = |weight: &Weight| -> Vec<f64> {
                let drawn = Weight::uniform(weight.name, weight.values.len() / weight.dim, weight.dim, 0.7, &mut rng);
                drawn.values.into_iter().map(f64::from).collect()
            };
            let values: Vec<Vec<f64>> = weights.all.iter().map(&mut draw).collect();
            let batches = TextBatches::new(&params, &examples, examples.outputs().unwrap());
            let pieces = batches.batch(&[0, 1, 2, 3, 4], 0, Vec::new(), &mut rng);
            let words: Vec<u32> = (0..6).collect();
            check_gradients(&format!("{params:?}"), values, |values| {
                batches.differentiated(&ReadyNet::new(&params, values, &words), &pieces[0])
            });
        }
    }
}

#[test]
fn the_order_of_words_is_learned() {
    let plain = |params: &TextNetParams| {
        params.cell == Cell::Lstm && params.layers == [Reads::Both] && params.pool != Pool::Mean
    };
    for params in all().into_iter().filter(plain) {
        let fit = FitParams { epochs: 150, held_out_share: 0.0, ..params.fit.clone() };
        let params = TextNetParams { fit, hidden: 8, maps: 8, dropout: 0.0, ..params };
        let model = trained(&params, 2).unwrap();
        let examples = examples();
        let p = model.probabilities(&examples.documents).unwrap();
        let right = p.chunks(2).zip(class_of(&examples)).filter(|(p, class)| p[**class as usize] > 0.5).count();
        assert!(right >= 158, "{params:?}: {right} of 160");
        assert!(p.chunks(2).all(|p| (p[0] + p[1] - 1.0).abs() < 1e-5));
    }
}

#[test]
fn a_text_has_its_probabilities_whatever_it_is_beside() {
    for params in all() {
        let model =
            trained(&TextNetParams { fit: FitParams { epochs: 3, ..params.fit.clone() }, ..params }, 1).unwrap();
        let documents = [vec![1, 2], vec![], vec![4, 4, 4, 4, 0, 1, 3, 5], vec![2, 1, 0]];
        let together = model.probabilities(&documents).unwrap();
        for (document, p) in documents.iter().zip(together.chunks(2)) {
            let alone = model.probabilities(std::slice::from_ref(document)).unwrap();
            assert_eq!(alone, p, "{document:?}");
        }
    }
}

#[test]
fn the_bytes_are_the_same_whatever_the_threads() {
    let dir = tempfile::tempdir().unwrap();
    for params in all() {
        let params = TextNetParams { fit: FitParams { epochs: 3, ..params.fit.clone() }, ..params };
        let bytes = [1, 2, 8].map(|threads| {
            let path = dir.path().join("m");
            trained(&params, threads).unwrap().save(&path, &"tokens", 160, None).unwrap();
            std::fs::read(path).unwrap()
        });
        assert!(bytes[0] == bytes[1] && bytes[1] == bytes[2], "{params:?}");
        let read = TextNet::read(&ModelFile::open(&dir.path().join("m")).unwrap()).unwrap();
        assert_eq!(read.document(&["不", "增长", "未见"]), [1, 2, 5]);
        read.save(&dir.path().join("n"), &"tokens", 160, None).unwrap();
        assert!(std::fs::read(dir.path().join("n")).unwrap() == bytes[0]);
    }
}

#[test]
fn parts_of_a_score_are_gradients_times_vectors() {
    let model = trained(&params(TextNetKind::TextCnn, Pool::Max), 1).unwrap();
    let document = [4, 1, 2, 0];
    let reasons = model.reasons(&document, Some(0)).unwrap();
    let p = model.probabilities(&[document.to_vec()]).unwrap();
    assert_eq!((reasons.of, reasons.against, reasons.parts.len()), (0, Some(1), 4));
    assert!((reasons.score - (p[0] / p[1]).ln()).abs() < 1e-4);
    let other = model.reasons(&document, Some(1)).unwrap();
    for (a, b) in reasons.parts.iter().zip(&other.parts) {
        assert!((a + b).abs() < 1e-5, "two classes: what speaks for one speaks against the other");
    }
    // Between its bends the network is linear in the vectors, so a little of the gradient is a little of the score.
    let piece = TextPiece::plain(&model.params, std::iter::once(&document[..]));
    let score = |by: f32| {
        let vectors: Vec<f32> = model.weights.all[VECTORS].values.iter().map(|v| v * by).collect();
        let s = model.net.forward(&[&vectors], &piece).scores;
        f64::from(s[0] - s[1])
    };
    let expected: f64 = reasons.parts.iter().sum::<f64>() * 0.001;
    assert!((score(1.0) - score(0.999) - expected).abs() < 1e-4 * (1.0 + expected.abs()));
}

#[test]
fn labels_are_learned_each_for_itself() {
    for kind in TextNetKind::ALL {
        let base = params(kind, Pool::Max);
        let fit = FitParams { epochs: 100, held_out_share: 0.0, ..base.fit.clone() };
        let params = TextNetParams { fit, hidden: 8, maps: 8, dropout: 0.0, ..base };
        let (examples, ctx) = (labelled(), Ctx::new(2, 3).unwrap());
        let model = TextNet::train(&examples, words(), None, &params, None, &ctx).unwrap();
        assert!(model.has_labels());
        let Goal::Labels { labels, .. } = &examples.goal else { panic!("the examples have labels") };
        let p = model.probabilities(&examples.documents).unwrap();
        for (p, labels) in p.chunks(2).zip(labels) {
            assert!(
                (0..2).all(|label| (p[label as usize] > 0.5) == labels.contains(&label)),
                "{kind:?}: {p:?} {labels:?}"
            );
        }
        let reasons = model.reasons(&[1, 2, 0], Some(1)).unwrap();
        let p = model.probabilities(&[vec![1, 2, 0]]).unwrap()[1];
        assert_eq!((reasons.of, reasons.against), (1, None));
        assert!((reasons.score - (p / (1.0 - p)).ln()).abs() < 1e-3 * reasons.score.abs());
        let dir = tempfile::tempdir().unwrap();
        model.save(&dir.path().join("m"), &"tokens", 160, None).unwrap();
        let read = TextNet::read(&ModelFile::open(&dir.path().join("m")).unwrap()).unwrap();
        assert!(read.has_labels() && read.names() == model.names());
        assert_eq!(read.probabilities(&examples.documents).unwrap(), model.probabilities(&examples.documents).unwrap());
    }
    let none = Goal::Labels { labels: vec![vec![]; 160], names: vec![] };
    let examples = Examples { goal: none, ..labelled() };
    let base = params(TextNetKind::TextCnn, Pool::Max);
    let error = TextNet::train(&examples, words(), None, &base, None, &Ctx::new(1, 3).unwrap()).err().unwrap();
    assert!(error.to_string().contains("no document has a label"), "{error}");
}

#[test]
fn a_penalty_makes_weights_smaller_but_no_word_vector() {
    let base = params(TextNetKind::TextCnn, Pool::Max);
    let size = |l2: f64| {
        let fit = FitParams { held_out_share: 0.0, ..base.fit.clone() };
        let model = trained(&TextNetParams { l2, fit, ..base.clone() }, 1).unwrap();
        let square = |weight: &Weight| weight.values.iter().map(|v| v * v).sum::<f32>();
        assert!(model.weights.all.iter().all(|weight| (weight.decay > 0.0) == (l2 > 0.0 && weight.name != "vectors")));
        model.weights.all[INNER..].iter().map(square).sum::<f32>()
    };
    assert!(size(0.05) < size(0.0), "{} {}", size(0.05), size(0.0));
}

#[test]
fn given_vectors_are_taken_kept_and_must_fit() {
    let given = |dim: usize| {
        let values = (0..2 * dim).map(|i| i as f32 / 10.0).collect();
        WordVectors::new(vec!["不".into(), "别".into()], Vec::new(), dim, values, Training::default()).unwrap()
    };
    let train = |params: &TextNetParams, vectors: &WordVectors| {
        TextNet::train(&examples(), words(), Some(vectors), params, None, &Ctx::new(1, 3).unwrap())
    };
    let base = params(TextNetKind::TextCnn, Pool::Max);
    let fixed = TextNetParams { channels: Channels::Static, ..base.clone() };
    let model = train(&fixed, &given(4)).unwrap();
    assert_eq!(&model.weights.all[VECTORS].values[4..8], [0.0, 0.1, 0.2, 0.3]);
    let moved = train(&base, &given(4)).unwrap();
    assert_ne!(&moved.weights.all[VECTORS].values[4..8], [0.0, 0.1, 0.2, 0.3]);
    assert_eq!(moved.parameters() - model.parameters(), 6 * 4);
    for kind in TextNetKind::ALL {
        let both = TextNetParams { kind, channels: Channels::Both, ..base.clone() };
        let both = train(&both, &given(4)).unwrap();
        let kept = both.weights.all.last().unwrap();
        assert_eq!((kept.name, &kept.values[4..8]), (params::STATIC, &[0.0, 0.1, 0.2, 0.3][..]));
        assert_ne!(&both.weights.all[VECTORS].values[4..8], [0.0, 0.1, 0.2, 0.3]);
        let dir = tempfile::tempdir().unwrap();
        both.save(&dir.path().join("m"), &"tokens", 160, None).unwrap();
        let read = TextNet::read(&ModelFile::open(&dir.path().join("m")).unwrap()).unwrap();
        let text = [vec![1, 2, 0]];
        assert_eq!(read.probabilities(&text).unwrap(), both.probabilities(&text).unwrap());
        assert_eq!(both.reasons(&text[0], None).unwrap().parts.len(), 3);
    }
    let error = train(&base, &given(3)).err().unwrap().to_string();
    assert!(error.contains("have 3 values, and --dim says 4"), "{error}");
}

#[test]
fn what_cannot_work_is_told() {
    let base = params(TextNetKind::TextCnn, Pool::Max);
    let refused = |params: TextNetParams| trained(&params, 1).err().unwrap().to_string();
    assert!(refused(TextNetParams { widths: vec![], ..base.clone() }).contains("--widths []"));
    assert!(refused(TextNetParams { dropout: 1.0, ..base.clone() }).contains("--dropout 1"));
    assert!(refused(TextNetParams { channels: Channels::Both, ..base.clone() }).contains("--pretrained"));
    assert!(refused(TextNetParams { pool: Pool::Last, ..base.clone() }).contains("--pool last"));
    assert!(refused(TextNetParams { layers: vec![], ..base.clone() }).contains("--layers names 0 layers"));
    assert!(refused(TextNetParams { l2: -1.0, ..base.clone() }).contains("--l2 -1"));
    let fit = FitParams { lr: 1e30, clip: 0.0, ..base.fit.clone() };
    let error = refused(TextNetParams { fit, ..base });
    assert!(error.contains("epoch 1, batch") && error.contains("at a rate of 1000000"), "{error}");
    assert!(error.contains("lower the learning rate"), "{error}");
}

#[derive(serde::Deserialize)]
struct Reference {
    words: usize,
    outputs: usize,
    documents: Vec<Vec<u32>>,
    classes: Vec<u32>,
    labels: Vec<Vec<u32>>,
    cases: Vec<ReferenceCase>,
}

#[derive(serde::Deserialize)]
struct ReferenceCase {
    network: TextNetParams,
    labels: bool,
    weights: std::collections::BTreeMap<String, Vec<f32>>,
    scores: Vec<Vec<f64>>,
    loss: f64,
    gradients: std::collections::BTreeMap<String, Vec<f64>>,
    after: std::collections::BTreeMap<String, Vec<f64>>,
}

#[test]
fn scores_losses_and_a_step_of_adam_are_those_of_pytorch() {
    let text = include_str!("../../../../tests/reference/pytorch/textnet.json");
    let reference: Reference = serde_json::from_str(text).unwrap();
    let near = |a: f64, b: f64| (a - b).abs() < 1e-5 * (1.0 + b.abs());
    for case in reference.cases {
        let params = &case.network;
        let names = (0..reference.outputs).map(|name| name.to_string()).collect();
        let goal = match case.labels {
            true => Goal::Labels { labels: reference.labels.clone(), names },
            false => Goal::Classes { class: reference.classes.clone(), names },
        };
        let examples = Examples { documents: reference.documents.clone(), goal };
        // What is fixed and what is penalised is as at the start of a training.
        let words: Vec<Box<str>> = (0..reference.words).map(|word| word.to_string().into()).collect();
        let mut weights = start(&words, reference.outputs, None, params, 1);
        for weight in &mut weights.all {
            weight.values.clone_from(&case.weights[weight.name]);
        }
        let net = Net::new(params, &weights.values());
        let piece = TextPiece::plain(params, examples.documents.iter().map(Vec::as_slice));
        let scores = net.forward(&channels(params, &weights.values()), &piece).scores;
        for (a, b) in scores.iter().zip(case.scores.iter().flatten()) {
            assert!(near(f64::from(*a), *b), "{params:?}: scores {a} and {b}");
        }
        let batches = TextBatches::new(params, &examples, examples.outputs().unwrap());
        let numbers: Vec<u32> = (0..=reference.words as u32).collect();
        let piece = batches.batch(&[0, 1, 2, 3, 4], 0, Vec::new(), &mut ChaCha8Rng::seed_from_u64(1)).remove(0);
        let (_, gradients) = batches.differentiated(&ReadyNet::new(params, &weights.values(), &numbers), &piece);
        for (weight, gradient) in weights.all.iter().zip(&gradients).filter(|(weight, _)| !weight.fixed) {
            for (i, (a, b)) in gradient.iter().zip(&case.gradients[weight.name]).enumerate() {
                let mean = f64::from(*a) / reference.documents.len() as f64;
                assert!(near(mean, *b), "{params:?}: the gradients by {}[{i}] are {mean} and {b}", weight.name);
            }
        }
        let (weights, epochs) = fit(&batches, weights, &params.fit, None, &Ctx::new(2, 1).unwrap()).unwrap();
        assert!(near(epochs[0].loss, case.loss), "{params:?}: losses {} and {}", epochs[0].loss, case.loss);
        let (mut compared, mut numbers) = (0, 0);
        for weight in &weights.all {
            for (i, (a, b)) in weight.values.iter().zip(&case.after[weight.name]).enumerate() {
                // A first step of Adam is as long for any gradient: one that is nearly 0 is stepped along its rounding.
                let slope = case.gradients.get(weight.name).map_or(1.0, |gradients| gradients[i]);
                let slope = slope + f64::from(weight.decay) * f64::from(case.weights[weight.name][i]);
                numbers += 1;
                if slope == 0.0 || slope.abs() > 1e-4 {
                    assert!(near(f64::from(*a), *b), "{params:?}: {}[{i}] after a step: {a} and {b}", weight.name);
                    compared += 1;
                }
            }
        }
        assert!(10 * compared > 9 * numbers, "{params:?}: {compared} of {numbers} compared");
    }
}
