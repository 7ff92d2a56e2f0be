//! x
#![allow(clippy::print_stdout)]
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let scale: f64 = a[1].parse().unwrap();
    for seed in a[3].split(',') {
        let seed: u64 = seed.parse().unwrap();
        let t = std::time::Instant::now();
        let (tr, _) = inkstone::demo::generate(
            a[2].as_ref(),
            &inkstone::demo::Params { scale, seed },
            &inkstone::job::Ctx::new(0, 1).unwrap(),
        )
        .unwrap();
        let f =
            |p: &inkstone::demo::Planted| format!("{:.4} [{:.4},{:.4}] real {:.4}", p.mean, p.low, p.high, p.realised);
        println!(
            "{seed}: docs {} | {} | {} | {} | plc {} | locked {} shocks {} {:?}",
            tr.documents,
            f(&tr.rank_ic_1),
            f(&tr.rank_ic_5),
            f(&tr.rank_ic_same_day),
            f(&tr.placebo_rank_ic_1),
            tr.securities.locked,
            tr.shocks,
            t.elapsed()
        );
    }
}
