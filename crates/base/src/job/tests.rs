use super::*;
use crate::language::Message;

const SOON: Duration = Duration::from_secs(20);

fn ctx() -> Ctx {
    Ctx::new(2, 1).unwrap()
}

#[test]
fn what_panics_in_a_container_is_given_back_and_the_thread_goes_on() {
    let panic = contained(|| {
        assert_eq!(contained(|| 7).unwrap(), 7);
        panic!("expected, and not to be seen");
    });
    assert_eq!(panic_text(panic.unwrap_err().as_ref()), "expected, and not to be seen");
    assert!(!CONTAINED.get());
}

#[test]
fn a_job_ends_once_whether_it_succeeds_fails_or_panics() {
    let job = Job::spawn("ok", ctx(), |_| Ok(7)).unwrap();
    assert!(matches!(job.wait(SOON), JobState::Done(7)));
    let job = Job::spawn("bad", ctx(), |_| -> Result<()> { Err(anyhow::anyhow!("row 3")) }).unwrap();
    assert!(matches!(job.wait(SOON), JobState::Failed(e) if e.to_string() == "row 3"));
    let job = Job::spawn("panic", ctx(), |_| -> Result<()> { panic!("broken") }).unwrap();
    assert!(matches!(job.wait(SOON), JobState::Failed(e) if e.to_string().contains("broken")));
}

#[test]
fn cancelling_stops_the_work_at_its_next_step() {
    let job = Job::spawn("loop", ctx(), |ctx| -> Result<()> {
        loop {
            ctx.advance(1)?;
        }
    })
    .unwrap();
    job.cancel();
    assert!(matches!(job.wait(SOON), JobState::Cancelled));
}

#[test]
fn paused_work_waits_and_goes_on_or_stops() {
    let job = Job::spawn("paused", ctx(), |ctx| {
        while ctx.progress().stages().is_empty() {
            std::thread::sleep(PAUSE);
        }
        Ok(ctx.advance(1)?)
    });
    let job = job.unwrap();
    job.ctx().pause(true);
    job.ctx().progress().begin("held", "docs", None);
    assert!(matches!(job.wait(PAUSE * 5), JobState::Running));
    job.ctx().pause(false);
    assert!(matches!(job.wait(SOON), JobState::Done(())));
    let ctx = ctx();
    ctx.pause(true);
    ctx.cancel();
    assert_eq!(ctx.check(), Err(Cancelled), "what is paused can be stopped");
}

#[test]
fn where_units_are_unknown_the_share_is_that_of_the_input() {
    let ctx = ctx();
    let share = || ctx.progress().stages().last().and_then(|stage| stage.share);
    let report = ctx.stage("ingest", "rows", None, || {
        assert_eq!(share(), None);
        ctx.expect_input(400);
        ctx.read_input(100);
        ctx.advance(7)?;
        assert_eq!(share(), Some(0.25));
        ctx.expect_input(500);
        ctx.read_input(250);
        assert_eq!(share(), Some(0.5), "files that are read again count anew");
        Ok(Report::new("ingest"))
    });
    report.unwrap();
}

#[test]
fn a_pause_counts_in_no_time_and_no_rate() {
    let ctx = ctx();
    let report = ctx.stage("clean", "docs", Some(40), || {
        ctx.advance(10)?;
        ctx.pause(true);
        ctx.pause(true);
        let held = ctx.progress().stages()[0].elapsed;
        std::thread::sleep(Duration::from_millis(300));
        let stage = &ctx.progress().stages()[0];
        assert_eq!(stage.elapsed, held, "the clock stands still");
        assert!(stage.eta().unwrap() < Duration::from_millis(600), "{:?}", stage.eta());
        ctx.pause(false);
        std::thread::sleep(Duration::from_millis(20));
        Ok(Report::new("clean"))
    });
    assert!((0.02..0.2).contains(&report.unwrap().seconds));
    assert!(ctx.progress().stages()[0].elapsed >= Duration::from_millis(20));
}

#[test]
fn a_stage_that_fails_and_is_left_out_is_one_stage() {
    let ctx = ctx();
    ctx.stage("extract tone", "docs", Some(4), || -> Result<Report> { anyhow::bail!("no library") }).unwrap_err();
    for name in ["extract tone", "factor tone"] {
        ctx.leave_out(name, "docs", Report::of_left_out(name, 4, Message::same("no library")));
    }
    let stages = ctx.progress().stages();
    let done = |stage: &StageProgress| matches!(&stage.state, StageState::Done(report) if report.stage == stage.name);
    assert_eq!(stages.iter().map(|stage| stage.name.as_str()).collect::<Vec<_>>(), ["extract tone", "factor tone"]);
    assert!(stages.iter().all(done));
}

#[test]
fn stages_record_their_progress_and_how_they_ended() {
    let ctx = ctx();
    let report = ctx.stage("clean", "docs", Some(4), || {
        ctx.advance(3)?;
        ctx.note("loss 0.5".into());
        Ok(Report::new("clean"))
    });
    assert!(report.unwrap().seconds >= 0.0);
    ctx.stage("link", "docs", None, || -> Result<Report> { Err(anyhow::anyhow!("no table")) }).unwrap_err();
    let (table, report) = ctx.stage("read", "rows", None, || Ok(("table", Report::new("read")))).unwrap();
    assert_eq!((table, report.stage.as_str()), ("table", "read"));
    let stages = ctx.progress().stages();
    assert_eq!((stages[0].done, stages[0].total, &*stages[0].note), (3, Some(4), "loss 0.5"));
    assert_eq!(stages[0].share, Some(0.75));
    assert!(matches!(stages[0].state, StageState::Done(_)));
    assert!(matches!(stages[1].state, StageState::Failed));
}
