//! Gradients of all losses, the paper's parameter count, known answers, threads, interruption and bad input.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::batches::LanguageNet;
use super::*;
use crate::ModelFile;
use crate::neural::check::check_gradients;
use crate::neural::fit::Network;
use crate::ngram::SampleParams;

const END: u32 = 4;

/// Four words, `</s>` (4) and `<unk>` (5).
fn words(stream: &[u32]) -> LanguageWords {
    let counts = (0..6).map(|word| stream.iter().filter(|&&w| w == word).count() as u64).collect();
    LanguageWords::new(["利润", "增长", "下滑", "公司"].map(Box::from).into(), counts).unwrap()
}

fn params(kind: LanguageKind) -> LanguageParams {
    let fit = FitParams { batch: 6, lr: 0.02, epochs: 3, held_out_share: 0.2, ..FitParams::default() };
    LanguageParams { kind, order: 3, dim: 3, hidden: 4, bptt: 3, fit, ..LanguageParams::default() }
}

fn all() -> Vec<LanguageParams> {
    let kinds = LanguageKind::ALL.map(params);
    let direct = LanguageParams { direct: true, ..params(LanguageKind::Nnlm) };
    let mut all: Vec<LanguageParams> = kinds.into_iter().chain([direct]).collect();
    let sampled: Vec<LanguageParams> =
        all.iter().map(|params| LanguageParams { samples: 4, ..params.clone() }).collect();
    all.extend(sampled);
    all.push(LanguageParams { tree: true, ..params(LanguageKind::Lbl) });
    all
}

/// A tree over the six words and marks, where the parameters ask for one.
fn tree(params: &LanguageParams) -> Option<WordTree> {
    params.tree.then(|| WordTree::new(vec![2, 5, 1, 0, 4, 3]).unwrap())
}

/// After 公司 comes 利润, then 增长 or 下滑, and that is all, again and again.
fn stream(documents: u32) -> Vec<u32> {
    (0..documents).flat_map(|d| [3, 0, 1 + d % 2, END]).collect()
}

fn trained(params: &LanguageParams, threads: usize) -> Result<NeuralLanguage> {
    let stream = stream(40);
    NeuralLanguage::train(&stream, words(&stream), tree(params), params, None, &Ctx::new(threads, 7).unwrap())
}

#[test]
fn gradients_are_the_difference_quotients() {
    let text = [3, 0, 1, END, 5, 2, 0, END, 1, 1, 3, END, 0];
    for params in all() {
        let words = words(&text);
        let shapes = params.shapes(words.classes());
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        // No weight at zero, and larger ones than at the start, so that nothing is linear.
        let mut draw = |n: usize| -> Vec<f64> { (0..n).map(|_| rng.random_range(-0.8..0.8)).collect() };
        let values: Vec<Vec<f64>> = shapes.iter().map(|(_, rows, dim)| draw(rows * dim)).collect();
        let sampler = (params.samples > 0).then(|| Sampler::new(&words.counts));
        let tree = tree(&params);
        let tree = tree.as_ref();
        let net = LanguageNet { params: &params, end: END, classes: 6, trained: &text, held_out: &[], sampler, tree };
        let order = net.order(&mut rng);
        let mut pieces = net.batch(&order, 1, Vec::new(), &mut rng);
        if params.kind == LanguageKind::Rnnlm {
            let states = pieces[0].streams * params.hidden;
            pieces[0].state = (0..states).map(|i| i as f32 / states as f32).collect();
        }
        let rows = net.reads(&pieces[..1]);
        check_gradients(&format!("{params:?}"), values, |values| {
            let (loss, by_weight, _) = net.differentiated(&net.ready_of(values.to_vec(), &rows), &pieces[0]);
            // The rows that are not read have no gradient.
            let dense = by_weight.into_iter().zip(&rows).zip(&shapes).map(|((by, rows), (_, all, dim))| match rows {
                None => by,
                Some(rows) => {
                    let mut dense = vec![0.0; all * dim];
                    let to = rows.iter().zip(by.chunks(*dim));
                    to.for_each(|(&row, by)| dense[row as usize * dim..][..*dim].copy_from_slice(by));
                    dense
                }
            });
            (loss, dense.collect())
        });
    }
}

#[test]
fn the_parameters_are_counted_as_in_the_paper() {
    // |V|(1 + nm + h) + h(1 + (n-1)m): with V = 6, n = 3 (two words before), m = 3, h = 4.
    let direct = LanguageParams { direct: true, ..params(LanguageKind::Nnlm) };
    let (v, n, m, h) = (6, 3, 3, 4);
    assert_eq!(trained(&direct, 1).unwrap().parameters(), v * (1 + n * m + h) + h * (1 + (n - 1) * m));
    // Without direct connections, the (n-1)m columns of W are not there.
    let plain = v * (1 + m + h) + h * (1 + (n - 1) * m);
    assert_eq!(trained(&params(LanguageKind::Nnlm), 1).unwrap().parameters(), plain);
}

#[test]
fn what_follows_a_word_is_learned() {
    for params in all() {
        let fit = FitParams { epochs: 60, held_out_share: 0.0, ..params.fit.clone() };
        let samples = 10 * params.samples;
        let model = trained(&LanguageParams { fit, samples, ..params.clone() }, 2).unwrap();
        let scorer = LanguageScorer::new(model);
        let p = |document: &[u32]| -> Vec<f64> {
            scorer.score(&[document])[0].iter().map(|&ln| f64::from(ln).exp()).collect()
        };
        let p = p(&[3, 0, 1, END]);
        for (place, right) in [1.0, 1.0, 0.5, 1.0].into_iter().enumerate() {
            assert!((p[place] - right).abs() < 0.12, "{params:?}: {p:?}");
        }
    }
}

#[test]
fn probabilities_of_all_words_sum_to_one_and_documents_know_nothing_of_each_other() {
    for params in all() {
        let scorer = LanguageScorer::new(trained(&params, 1).unwrap());
        let documents: Vec<Vec<u32>> = (0..6).map(|word| vec![3, 0, word, END]).collect();
        let read: Vec<&[u32]> = documents.iter().map(Vec::as_slice).collect();
        let together = scorer.score(&read);
        let sum: f64 = together.iter().map(|logs| f64::from(logs[2]).exp()).sum();
        assert!((sum - 1.0).abs() < 1e-5, "{sum}");
        let longer = [3, 0, 1, 1, 2, END];
        let other = scorer.score(&[&documents[2], &longer, &documents[5]]);
        assert!(other[0] == together[2] && other[2] == together[5]);
        assert_eq!(other[1].len(), longer.len());
    }
}

#[test]
fn the_bytes_are_the_same_whatever_the_threads_and_after_an_interruption() {
    let dir = tempfile::tempdir().unwrap();
    let stream = stream(300);
    for params in all() {
        let params = LanguageParams { fit: FitParams { batch: 200, ..params.fit.clone() }, ..params };
        let file = |name: &str, threads: usize, epochs: &[usize]| {
            let path = dir.path().join(name);
            let checkpoint = Checkpoint::new(&path, &serde_json::json!("one")).unwrap().eager();
            let mut model = None;
            for &epochs in epochs {
                let fit = FitParams { epochs, ..params.fit.clone() };
                let params = LanguageParams { fit, ..params.clone() };
                let ctx = Ctx::new(threads, 7).unwrap();
                let words = words(&stream);
                model = Some(
                    NeuralLanguage::train(&stream, words, tree(&params), &params, Some(&checkpoint), &ctx).unwrap(),
                );
            }
            checkpoint.remove().unwrap();
            model.unwrap().save(&path, &"tokens", 300, None).unwrap();
            std::fs::read(path).unwrap()
        };
        let one = file("m1", 1, &[3]);
        assert!(one == file("m2", 2, &[3]) && one == file("m8", 8, &[3]), "{params:?}");
        // One epoch, then the same again from its checkpoint.
        assert!(one == file("mi", 2, &[1, 3]), "{params:?}");
        assert!(!dir.path().join("mi.checkpoint").exists());
        let read = NeuralLanguage::read(&ModelFile::open(&dir.path().join("m1")).unwrap()).unwrap();
        read.save(&dir.path().join("again"), &"tokens", 300, None).unwrap();
        assert!(std::fs::read(dir.path().join("again")).unwrap() == one);
    }
}

#[test]
fn held_out_documents_are_the_last_and_say_when_to_stop() {
    let text = stream(10);
    let (trained_on, held_out) = split(&text, END, 0.2);
    assert_eq!((trained_on.len(), held_out.len()), (32, 8));
    assert_eq!(split(&text, END, 0.0).1.len(), 0);
    // What is held out contradicts what is trained on: after an epoch or two nothing becomes better.
    let mut text: Vec<u32> = (0..40).flat_map(|_| [0, 1, END]).collect();
    text.extend((0..10).flat_map(|_| [2, 2, 2, 2, END]));
    let fit = FitParams { epochs: 50, patience: 2, lr: 0.05, ..params(LanguageKind::Nnlm).fit };
    let params = LanguageParams { fit, ..params(LanguageKind::Nnlm) };
    let model = NeuralLanguage::train(&text, words(&text), None, &params, None, &Ctx::new(1, 1).unwrap()).unwrap();
    assert!(model.epochs().len() < 50, "{:?}", model.epochs());
    let last = model.epochs().last().unwrap();
    assert!(last.lr < 0.05 && last.held_out.is_some());
}

#[test]
fn a_rate_that_is_too_high_stops_with_epoch_and_rate() {
    let fit = FitParams { lr: 1e38, clip: 0.0, ..params(LanguageKind::Nnlm).fit };
    let error = trained(&LanguageParams { fit, ..params(LanguageKind::Nnlm) }, 1).err().unwrap().to_string();
    assert!(
        error.contains("no longer a number: epoch 1, batch") && error.contains("lower the learning rate"),
        "{error}"
    );
    assert!(error.contains("1000000000000000000000000000000"), "{error}");
}

#[test]
fn settings_that_cannot_work_are_told() {
    let refused = |params: LanguageParams| trained(&params, 1).err().unwrap().to_string();
    let base = || params(LanguageKind::Lbl);
    assert!(refused(LanguageParams { order: 1, ..base() }).contains("--order 1"));
    assert!(refused(LanguageParams { dim: 0, ..base() }).contains("--dim 0"));
    let drawn = LanguageParams { tree: true, samples: 3, ..base() };
    assert!(refused(drawn).contains("without --samples"));
    assert!(refused(LanguageParams { direct: true, ..base() }).contains("only nnlm has --direct"));
    let fit = |fit| refused(LanguageParams { fit, ..base() });
    assert!(fit(FitParams { lr: 0.0, ..FitParams::default() }).contains("--lr 0"));
    assert!(fit(FitParams { held_out_share: 0.9, ..FitParams::default() }).contains("--held-out-share 0.9"));
    assert!(fit(FitParams { epochs: 0, ..FitParams::default() }).contains("--epochs 0"));
}

#[test]
fn texts_are_drawn_and_words_follow_as_they_are_probable() {
    for params in all().into_iter().filter(|params| params.samples == 0) {
        let fit = FitParams { epochs: 60, held_out_share: 0.0, ..params.fit.clone() };
        let scorer = LanguageScorer::new(trained(&LanguageParams { fit, ..params.clone() }, 2).unwrap());
        let sampling = SampleParams { documents: 400, max_length: 9, ..SampleParams::default() };
        let draw = |threads| scorer.sample(&sampling, &Ctx::new(threads, 3).unwrap()).unwrap();
        let drawn = draw(1);
        assert!(drawn == draw(3), "{params:?}");
        // Half of the documents of the text go on with each of two words.
        let share = |text: &str| drawn.iter().filter(|one| one.tokens == text).count() as f64 / 400.0;
        for text in ["公司 利润 增长", "公司 利润 下滑"] {
            assert!((share(text) - 0.45).abs() < 0.15, "{params:?}: {} of {text}", share(text));
        }
        let one = drawn.iter().find(|one| one.tokens == "公司 利润 增长" && !one.broken_off).unwrap();
        let score: f64 = scorer.score(&[&[3, 0, 1, END]])[0].iter().map(|&ln| f64::from(ln) / 10f64.ln()).sum();
        assert!((one.log10_prob - score).abs() < 1e-4, "{} and {score}", one.log10_prob);
        let following = scorer.following(&["公司", "未见", "利润"], 2);
        assert_eq!((following.unknown, following.next.len()), (vec!["未见".to_owned()], 2));
        let next = scorer.following(&["公司", "利润"], 9).next;
        assert!(next.len() == 5 && ["增长", "下滑"].contains(&&*next[0].word), "{next:?}");
        let score = f64::from(scorer.score(&[&[3, 0, 1, END]])[0][2]) / 10f64.ln();
        let listed = next.iter().find(|likely| likely.word == "增长").unwrap().log10_prob;
        assert!((listed - score).abs() < 1e-5, "{listed} and {score}");
    }
}
