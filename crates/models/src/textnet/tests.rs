//! Gradients, known answers, padding, threads and bad input of the classifiers.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::*;
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

fn all() -> [TextNetParams; 3] {
    [
        params(TextNetKind::TextCnn, Pool::Max),
        params(TextNetKind::TextRnn, Pool::Max),
        params(TextNetKind::TextRnn, Pool::Last),
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
        let said = if no == 1 { vec![1, 3 - up] } else { vec![0, 3 - up] };
        let around = [4, 0, 4][..(i as usize >> 2) % 4].to_vec();
        documents.push(if i & 64 == 0 { [said, around].concat() } else { [around, said].concat() });
        class.push(no ^ up);
    }
    Examples { documents, class }
}

fn trained(params: &TextNetParams, threads: usize) -> Result<TextNet> {
    let classes = vec!["差".to_owned(), "好".to_owned()];
    TextNet::train(&examples(), words(), classes, None, params, None, &Ctx::new(threads, 3).unwrap())
}

#[test]
fn gradients_are_the_difference_quotients() {
    // Texts of unlike length, one of them empty and one shorter than a window.
    let documents = vec![vec![0, 1, 2, 3, 4], vec![5, 1], vec![3], vec![], vec![2, 2, 0]];
    let examples = Examples { documents, class: vec![0, 1, 2, 1, 0] };
    for params in all() {
        let mut rng = ChaCha8Rng::seed_from_u64(11);
        let mut weights = start(&words(), 3, None, &params, 5);
        for weight in &mut weights.all {
            *weight = Weight::uniform(weight.name, weight.rows(), weight.dim, 0.7, &mut rng);
        }
        let params = TextNetParams { fit: FitParams { held_out_share: 0.0, ..params.fit.clone() }, ..params };
        let batches = TextBatches::new(&params, &examples);
        let pieces = batches.batch(&[0, 1, 2, 3, 4], 0, Vec::new(), &mut rng);
        assert_eq!(pieces.len(), 1);
        check_gradients(&weights, |leaves| batches.loss(leaves, &pieces[0]).unwrap().0);
    }
}

#[test]
fn the_order_of_words_is_learned() {
    for params in all() {
        let fit = FitParams { epochs: 150, held_out_share: 0.0, ..params.fit.clone() };
        let params = TextNetParams { fit, hidden: 8, maps: 8, dropout: 0.0, ..params };
        let model = trained(&params, 2).unwrap();
        let examples = examples();
        let p = model.probabilities(&examples.documents).unwrap();
        let right = p.chunks(2).zip(&examples.class).filter(|(p, class)| p[**class as usize] > 0.5).count();
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
            assert!((alone[0] - p[0]).abs() < 1e-6, "{document:?}: {alone:?} {p:?}");
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
    assert_eq!((reasons.of, reasons.against, reasons.parts.len()), (0, 1, 4));
    assert!((reasons.score - (p[0] / p[1]).ln()).abs() < 1e-4);
    let other = model.reasons(&document, Some(1)).unwrap();
    for (a, b) in reasons.parts.iter().zip(&other.parts) {
        assert!((a + b).abs() < 1e-5, "two classes: what speaks for one speaks against the other");
    }
    // Between its bends the network is linear in the vectors, so a little of the gradient is a little of the score.
    let piece = TextPiece::plain(&model.params, std::iter::once(&document[..]));
    let x = layers::embed(&model.leaves, &piece).unwrap();
    let score = |x: &Tensor| {
        let s = layers::scores(&model.params, &model.leaves, &piece, x).unwrap().to_vec2::<f32>().unwrap();
        f64::from(s[0][0] - s[0][1])
    };
    let shrunk = (&x * 0.999).unwrap();
    let expected: f64 = reasons.parts.iter().sum::<f64>() * 0.001;
    assert!((score(&x) - score(&shrunk) - expected).abs() < 1e-4 * (1.0 + expected.abs()));
}

#[test]
fn given_vectors_are_taken_kept_and_must_fit() {
    let given = |dim: usize| {
        let values = (0..2 * dim).map(|i| i as f32 / 10.0).collect();
        WordVectors::new(vec!["不".into(), "别".into()], Vec::new(), dim, values, Training::default()).unwrap()
    };
    let train = |params: &TextNetParams, vectors: &WordVectors| {
        let classes = vec!["差".to_owned(), "好".to_owned()];
        TextNet::train(&examples(), words(), classes, Some(vectors), params, None, &Ctx::new(1, 3).unwrap())
    };
    let base = params(TextNetKind::TextCnn, Pool::Max);
    let fixed = TextNetParams { fixed: true, ..base.clone() };
    let model = train(&fixed, &given(4)).unwrap();
    assert_eq!(&model.weights.all[VECTORS].values[4..8], [0.0, 0.1, 0.2, 0.3]);
    let moved = train(&base, &given(4)).unwrap();
    assert_ne!(&moved.weights.all[VECTORS].values[4..8], [0.0, 0.1, 0.2, 0.3]);
    assert_eq!(moved.parameters() - model.parameters(), 6 * 4);
    let error = train(&base, &given(3)).err().unwrap().to_string();
    assert!(error.contains("have 3 values, and --dim says 4"), "{error}");
}

#[test]
fn what_cannot_work_is_told() {
    let base = params(TextNetKind::TextCnn, Pool::Max);
    let refused = |params: TextNetParams| trained(&params, 1).err().unwrap().to_string();
    assert!(refused(TextNetParams { widths: vec![], ..base.clone() }).contains("--widths []"));
    assert!(refused(TextNetParams { dropout: 1.0, ..base.clone() }).contains("--dropout 1"));
    assert!(refused(TextNetParams { fixed: true, ..base.clone() }).contains("--pretrained"));
    let fit = FitParams { lr: 1e30, clip: 0.0, ..base.fit.clone() };
    let error = refused(TextNetParams { fit, ..base });
    assert!(error.contains("epoch 1, batch") && error.contains("at a rate of 1000000"), "{error}");
    assert!(error.contains("lower --lr"), "{error}");
}
