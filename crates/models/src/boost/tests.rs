use super::*;
use crate::Csr;
use crate::reference::{Reference, read};
use inkstone_base::job::Ctx;

fn grown(x: &Design, goal: &BoostGoal<'_>, params: &BoostParams, threads: usize) -> Boosted {
    let ctx = Ctx::new(threads, 1).unwrap();
    ctx.install(|| grow(x, goal, None, params, &ctx)).unwrap()
}

#[test]
fn columns_are_chosen_in_the_order_of_scikit_learn() {
    let reference = Reference::read();
    let value: Vec<f64> = read(&reference.all["order"]["value"]);
    let of_class = BoostGoal::Class { class: &reference.class, classes: 3 };
    for (name, goal) in [("f_classif", of_class), ("f_regression", BoostGoal::Value(&value))] {
        let merit: Vec<f64> = read(&reference.all["order"][name]);
        let mut order: Vec<u32> = (0..merit.len() as u32).collect();
        order.sort_by(|&a, &b| merit[b as usize].total_cmp(&merit[a as usize]));
        for n in [1, 3, 7] {
            let params = BoostParams { max_features: n, trees: 1, ..BoostParams::default() };
            let mut expected = order[..n].to_vec();
            expected.sort_unstable();
            assert_eq!(grown(&reference.x, &goal, &params, 1).columns(), expected, "{name}");
        }
    }
}

#[test]
fn a_rule_of_two_columns_is_learned_where_no_line_would_do() {
    // 甲 when exactly one of two words is there.
    let (mut x, mut class) = (Csr::new(3), Vec::new());
    for i in 0..120u32 {
        let (a, b) = (i % 2 == 0, i / 2 % 2 == 0);
        let here = [(0, a), (1, b), (2, i % 3 == 0)];
        x.push_row(here.into_iter().filter(|(_, is)| *is).map(|(j, _)| (j, 0.25 * (1 + i % 4) as f32)));
        class.push(u32::from((a != b) ^ (i == 5)));
    }
    let x = x.into();
    let params = BoostParams { trees: 40, ..BoostParams::default() };
    let trees = grown(&x, &BoostGoal::Class { class: &class, classes: 2 }, &params, 2);
    let scores = trees.scores(&x);
    let right = scores.iter().zip(&class).filter(|(score, class)| (**score > 0.0) == (**class == 1)).count();
    assert!(right >= 119, "{right}");
}

#[test]
fn trees_and_their_bytes_do_not_depend_on_the_number_of_threads() {
    let reference = Reference::read();
    let goal = BoostGoal::Class { class: &reference.class, classes: 3 };
    let params = BoostParams { trees: 12, ..BoostParams::default() };
    let bytes = |threads| grown(&reference.x, &goal, &params, threads).to_bytes().unwrap();
    let one = bytes(1);
    assert!(one == bytes(2) && one == bytes(8));
    let read = Boosted::from_bytes(&one).unwrap();
    assert_eq!(read.to_bytes().unwrap(), one);
    let model = grown(&reference.x, &goal, &params, 1);
    assert_eq!(read.scores(&reference.x), model.scores(&reference.x));
}

#[test]
fn what_tells_nothing_and_what_is_too_large_are_refused() {
    let ctx = Ctx::new(1, 1).unwrap();
    let mut x = Csr::new(1);
    (0..4).for_each(|_| x.push_row([(0, 1.0)]));
    let x = x.into();
    let goal = BoostGoal::Class { class: &[0, 1, 0, 1], classes: 2 };
    let error_of = |x: &Design, goal: &BoostGoal<'_>, params: &BoostParams| {
        grow(x, goal, None, params, &ctx).map(|_| ()).unwrap_err().to_string()
    };
    assert!(error_of(&x, &goal, &BoostParams::default()).contains("no column tells anything"));
    assert!(
        error_of(&x, &goal, &BoostParams { learning_rate: 0.0, ..BoostParams::default() })
            .contains("learning_rate = 0")
    );
    let nan = BoostGoal::Value(&[1.0, f64::NAN, 0.0, 2.0]);
    assert!(error_of(&x, &nan, &BoostParams::default()).contains("finite target"));
    let reference = Reference::read();
    let goal = BoostGoal::Class { class: &reference.class, classes: 3 };
    let message = error_of(&reference.x, &goal, &BoostParams { memory_mb: 0, ..BoostParams::default() });
    assert!(message.contains("memory_mb = 0") && message.contains("lower max_features (now 2000)"), "{message}");
}
