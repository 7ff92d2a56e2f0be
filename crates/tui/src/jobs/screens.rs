//! Screens of the page of jobs, and what keys do to its jobs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use chrono::{NaiveDate, NaiveDateTime};
use crossterm::event::{KeyCode, KeyEvent};
use tempfile::TempDir;

use super::log::{LogLine, StageFigures};
use super::{Happening, JobEntry, Pane, Phase};
use crate::bench::{Bench, LARGE, SMALL, SOON, empty, filled};
use crate::desk::Work;
use crate::event::Event;
use crate::instance::{Instance, Why};
use crate::page::Page;
use crate::screens::ingest_report;
use crate::{Language, Runner, Workspace};
use inkstone_base::data::Report;
use inkstone_base::job::{Ctx, StageProgress, StageState};
use inkstone_base::language::Message;
use inkstone_base::lock::Holder;
use inkstone_base::message;
use inkstone_tables::project::Project;

fn stage(name: &str, done: u64, total: Option<u64>, seconds: u64, state: StageState) -> StageProgress {
    let (name, note) = (name.to_owned(), String::new());
    let share = total.map(|total| done as f64 / total as f64);
    StageProgress { name, unit: "docs", done, total, share, note, elapsed: Duration::from_secs(seconds), state }
}

fn half_way() -> Vec<StageProgress> {
    let unchanged = Report { rows_in: 200, rows_out: 200, unchanged: true, ..Report::new("securities") };
    vec![
        stage("ingest", 9520, Some(9520), 4, StageState::Done(Box::new(ingest_report()))),
        stage("securities", 200, None, 0, StageState::Done(Box::new(unchanged))),
        stage("clean", 4800, Some(9500), 6, StageState::Running),
    ]
}

fn pipeline(phase: Phase, stages: Vec<StageProgress>) -> JobEntry {
    JobEntry::posed(0, "整条流水线", phase, stages, Duration::from_secs(10))
}

fn full_disk() -> Phase {
    Phase::Failed(message!(
        "清洗: 第 1 份，共 3 份: 无法写入 .inkstone/clean/part-00001.parquet: 磁盘已满（os error 28）",
        "clean: part 1 of 3: cannot write .inkstone/clean/part-00001.parquet: No space left on device (os error 28)"
    ))
}

/// The workbench with these jobs, as if they had come along by themselves.
fn posed(jobs: Vec<JobEntry>) -> Bench {
    let mut bench = Bench::open(&empty(), |_| ());
    bench.app.jobs.pose(jobs);
    bench
}

#[test]
fn jobs_are_shown_at_work_held_failed_and_finished() {
    let mut bench = posed(vec![pipeline(Phase::Running, half_way())]);
    insta::assert_snapshot!("running", bench.screen(SMALL, "9"));
    insta::assert_snapshot!("running_first_stage", bench.screen(LARGE, "kk"));
    insta::assert_snapshot!("running_question", bench.screen(SMALL, "<ctrl-c>"));
    bench.press("n");
    bench.app.jobs.pose(vec![pipeline(Phase::Paused, half_way())]);
    insta::assert_snapshot!("paused_english", bench.screen(SMALL, "L"));
    let mut broken = half_way();
    broken[2].state = StageState::Failed;
    bench.app.jobs.pose(vec![pipeline(full_disk(), broken.clone())]);
    insta::assert_snapshot!("failed", bench.screen(SMALL, "L<end>"));
    broken.pop();
    bench.app.jobs.pose(vec![pipeline(Phase::Done, broken)]);
    insta::assert_snapshot!("finished_english", bench.screen(SMALL, "kL"));
}

#[test]
fn many_jobs_are_listed_and_each_can_be_looked_at() {
    let tone = vec![stage("train tone", 700, Some(5000), 61, StageState::Running)];
    let mut jobs = vec![
        JobEntry::posed(0, "实验", Phase::Done, vec![], Duration::from_secs(185)),
        JobEntry::posed(1, "整条流水线", full_disk(), half_way(), Duration::from_secs(10)),
        JobEntry::posed(2, "训练 tone", Phase::Running, tone, Duration::from_secs(61)),
        JobEntry::posed(3, "整条流水线", Phase::Waiting, vec![], Duration::ZERO),
    ];
    let mut bench = posed(jobs);
    insta::assert_snapshot!("queue", bench.screen(SMALL, "9"));
    insta::assert_snapshot!("queue_waiting_large_english", bench.screen(LARGE, "L]"));
    let picture = bench.screen(SMALL, "L[[");
    assert!(picture.contains("磁盘已满") && picture.contains("└ 磁盘已满"), "{picture}");
    // A click on the first line of the list.
    bench.click(5, 2);
    assert_eq!(bench.app.jobs.selected().unwrap().id, 0);
    jobs = (0..40).map(|id| JobEntry::posed(id, "很长的任务名字很长的任务名字", Phase::Done, vec![], SOON)).collect();
    bench.app.jobs.pose(jobs);
    bench.screen(LARGE, "");
    bench.screen((60, 16), "[[[");
    assert_eq!(bench.app.jobs.selected().unwrap().id, 36);
}

fn day(hour: u32, minute: u32) -> NaiveDateTime {
    NaiveDate::from_ymd_opt(2024, 3, 12).unwrap().and_hms_opt(hour, minute, 7).unwrap()
}

fn logged() -> Vec<LogLine> {
    let job = || "整条流水线".to_owned();
    let events = [
        Happening::Opened { version: "0.1.0".to_owned(), read_only: false },
        Happening::Started { job: job(), command: "inkstone run --headless".to_owned() },
        Happening::Stage(Box::new(StageFigures::new(&job(), &ingest_report(), String::new()))),
        Happening::Stage(Box::new(StageFigures {
            job: job(),
            stage: "securities".to_owned(),
            unchanged: true,
            ..StageFigures::default()
        })),
        Happening::Paused { job: job() },
        Happening::WentOn { job: job() },
        Happening::Failed {
            job: job(),
            seconds: 9.5,
            error: Message::same("clean: part 1: \u{1b}[31mNo space left on device"),
        },
        Happening::Warning {
            text: "上次的位置读不出来，已改名为 session.json.set-aside 𠮷🙂".to_owned()
        },
        Happening::Queued { job: job() },
        Happening::Removed { job: job() },
        Happening::Cancelled { job: job(), seconds: 61.0 },
        Happening::Done { job: job(), seconds: 3700.0, stages: 12 },
        Happening::Closed,
    ];
    events.into_iter().enumerate().map(|(i, event)| LogLine { at: day(20, i as u32), event }).collect()
}

#[test]
fn the_log_is_read_and_searched() {
    let mut bench = posed(vec![pipeline(Phase::Cancelled, half_way())]);
    assert!(bench.screen(SMALL, "9v").contains("还没有日志"));
    bench.app.jobs.log.pose(logged());
    insta::assert_snapshot!("log", bench.screen(SMALL, "<home>jj"));
    insta::assert_snapshot!("log_large_english", bench.screen(LARGE, "L<end>"));
    insta::assert_snapshot!("log_search", bench.screen(SMALL, "L/NO SPACE"));
    let found = bench.screen(SMALL, "<enter>");
    assert!(found.contains("1 / 1 (13)"), "{found}");
    assert!(bench.screen(SMALL, "/zzz").contains("没有一行含有这些字"));
    let all = bench.screen(SMALL, "<esc>");
    assert!(all.contains("13 / 13"), "{all}");
    assert!(!bench.screen(SMALL, "<esc>").contains("日志 · "), "esc leads back to the stages");
}

#[test]
fn a_line_of_a_megabyte_and_control_characters_are_shown_within_the_frame() {
    let mut bench = posed(Vec::new());
    let text = format!("\u{1b}[2J{}\n第二行 𠮷 👩‍👩‍👧", "超长".repeat(200_000));
    bench.app.jobs.log.pose(vec![LogLine { at: day(1, 2), event: Happening::Warning { text: text.clone() } }]);
    let picture = bench.screen(SMALL, "9v");
    assert!(picture.contains("␛[2J超长") && !picture.contains('\u{1b}'), "{picture}");
    bench.app.jobs.pose(vec![pipeline(Phase::Failed(Message::same(text)), half_way())]);
    let picture = bench.screen(SMALL, "vv");
    assert!(picture.contains("␛[2J超长"), "{picture}");
}

#[test]
fn what_is_read_only_says_so_in_the_first_line_and_starts_nothing() {
    let holder = Holder { pid: 4242, host: "desk".to_owned(), ..Holder::default() };
    let mut bench = posed(Vec::new());
    bench.app.instance = Instance::posed(Why::Workbench(holder.clone()));
    insta::assert_snapshot!("read_only", bench.screen(SMALL, "9"));
    bench.app.instance = Instance::posed(Why::Run(holder));
    insta::assert_snapshot!("read_only_large_english", bench.screen(LARGE, "L"));
}

/// A workbench that remembers, on a project.
fn at_home(dir: &Arc<TempDir>, change: impl FnOnce(&mut Workspace)) -> Bench {
    Bench::come_back(dir, change)
}

#[test]
fn a_second_workbench_reads_until_the_first_is_gone_and_r_is_pressed() {
    let dir = filled();
    let first = at_home(&dir, |_| ());
    let mut second = at_home(&dir, |_| ());
    let pid = format!("只读: 另一实例 pid {}", std::process::id());
    let picture = second.screen(LARGE, "9");
    assert!(picture.contains(&pid), "{picture}");
    let picture = second.screen(LARGE, "r");
    assert!(second.app.jobs.list().is_empty() && picture.contains("按 r 重试"), "{picture}");
    first.leave();
    second.press("r");
    second.finish();
    assert_eq!(second.app.jobs.list()[0].phase, Phase::Done);
    assert!(!second.screen(LARGE, "").contains("只读"));
}

#[test]
fn a_run_in_another_process_is_named_and_its_project_left_alone() {
    let dir = filled();
    let project = Project::new(dir.path());
    let ran = Arc::new(AtomicBool::new(false));
    let mark = ran.clone();
    let run: Runner = Arc::new(move |_| {
        mark.store(true, Ordering::Relaxed);
        Ok(Vec::new())
    });
    let mut bench = at_home(&dir, |w| w.run = run);
    // Begun after the workbench was opened.
    let other = project.lock_for("run").unwrap();
    bench.press("r");
    bench.finish();
    let picture = bench.screen(LARGE, "9");
    assert!(picture.contains("正由另一个运行写入") && picture.contains("等它结束"), "{picture}");
    assert!(!ran.load(Ordering::Relaxed));
    drop(other);
    bench.press("r");
    bench.finish();
    assert!(ran.load(Ordering::Relaxed));
}

/// Work that goes on until it is told to stop, and counts how many are at work at once.
fn endless(at_once: &Arc<AtomicUsize>, most: &Arc<AtomicUsize>) -> Runner {
    let (at_once, most) = (at_once.clone(), most.clone());
    Arc::new(move |ctx: &Ctx| {
        most.fetch_max(at_once.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        let ended = ctx.stage("train", "docs", Some(1_000_000), || {
            loop {
                ctx.advance(1)?;
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        at_once.fetch_sub(1, Ordering::SeqCst);
        Ok(vec![ended?])
    })
}

fn work(name: &str, writes: bool, run: &Runner) -> Work {
    Work { name: name.to_owned(), command: format!("inkstone {name}"), writes, run: run.clone() }
}

fn phases(bench: &Bench) -> Vec<(&str, &Phase)> {
    bench.app.jobs.list().iter().map(|job| (job.name.as_str(), &job.phase)).collect()
}

#[test]
fn jobs_that_write_go_one_by_one_and_those_that_read_at_once() {
    let mut bench = Bench::open(&empty(), |_| ());
    let counts = [(); 2].map(|()| Arc::new(AtomicUsize::new(0)));
    let run = endless(&counts[0], &counts[1]);
    for (name, writes) in [("first", true), ("second", true), ("look", false), ("third", true)] {
        assert!(bench.app.begin(work(name, writes, &run), Page::Models));
    }
    use Phase::{Cancelled, Running, Waiting};
    let standing = [("first", &Running), ("second", &Waiting), ("look", &Running), ("third", &Waiting)];
    assert_eq!(phases(&bench), standing);
    assert!(bench.screen(SMALL, "1").contains("4 任务"), "the first line tells of them on every page");
    // One that waits is taken out at once, the one under way is asked about.
    let picture = bench.screen(SMALL, "9]]]c");
    assert!(picture.contains("third: 已从队列移除"), "{picture}");
    assert_eq!(phases(&bench).len(), 3);
    let picture = bench.screen(SMALL, "c");
    assert!(picture.contains(" first ") && picture.contains("停止这个任务？"), "{picture}");
    bench.press("y");
    bench.wait_until(|app| app.jobs.list()[1].phase == Running);
    assert_eq!(phases(&bench)[0], ("first", &Cancelled));
    assert_eq!(counts[1].load(Ordering::SeqCst), 2, "one that writes, and one that reads");
    bench.press("q");
    assert!(!bench.app.has_quit());
    bench.press("y");
    assert!(bench.app.has_quit());
    bench.finish();
    assert!(phases(&bench).iter().all(|(_, phase)| **phase == Cancelled), "{:?}", phases(&bench));
}

#[test]
fn a_held_job_stands_still_and_goes_on() {
    let counts = [(); 2].map(|()| Arc::new(AtomicUsize::new(0)));
    let run = endless(&counts[0], &counts[1]);
    let mut bench = Bench::open(&empty(), |w| w.run = run);
    bench.press("r");
    bench.wait_until(|app| app.jobs.list()[0].stages.first().is_some_and(|stage| stage.done > 3));
    let picture = bench.screen(SMALL, "P");
    assert!(picture.contains("已暂停") && picture.contains("按 P 继续"), "{picture}");
    std::thread::sleep(Duration::from_millis(60));
    bench.app.take(Event::Tick);
    let before = (bench.app.jobs.list()[0].stages[0].done, bench.app.jobs.list()[0].worked);
    std::thread::sleep(Duration::from_millis(120));
    bench.app.take(Event::Tick);
    assert_eq!((bench.app.jobs.list()[0].stages[0].done, bench.app.jobs.list()[0].worked), before);
    bench.press("P");
    bench.wait_until(|app| app.jobs.list()[0].stages[0].done > before.0);
    bench.press("P<ctrl-c><ctrl-c>");
    bench.finish();
    assert_eq!(bench.app.jobs.list()[0].phase, Phase::Cancelled, "what is held can be stopped");
}

#[test]
fn the_log_tells_what_happened_also_after_a_restart() {
    let dir = empty();
    let report = || {
        let mut report = ingest_report();
        report.facts.clear();
        report
    };
    let run: Runner = Arc::new(move |ctx: &Ctx| {
        ctx.stage("ingest", "docs", None, || Ok(report()))?;
        anyhow::bail!("no such column")
    });
    let mut bench = at_home(&dir, |w| w.run = run);
    bench.press("r");
    bench.finish();
    let picture = bench.screen(LARGE, "9v");
    for part in ["整条流水线 · 开始 · inkstone run", "读取 · 输入 9,520 输出 9,500 剔除 20", "失败", "no such column"]
    {
        assert!(picture.contains(part), "{part} is not in\n{picture}");
    }
    bench.leave();
    let mut bench = at_home(&dir, |_| ());
    let picture = bench.screen(LARGE, "");
    assert_eq!((bench.app.page, bench.app.jobs.pane), (Page::Jobs, Pane::Log), "the page is the one that was left");
    assert!(picture.contains("no such column") && picture.contains("离开工作台"), "{picture}");
    let times = bench.app.jobs.log.lines().iter().filter(|line| matches!(line.event, Happening::Opened { .. })).count();
    assert_eq!(times, 2, "lines of this session stand there once");
}

#[test]
fn a_session_comes_back_and_a_damaged_one_is_set_aside() {
    let dir = filled();
    let path = Project::new(dir.path()).session();
    let mut bench = at_home(&dir, |_| ());
    bench.press("9vL");
    bench.leave();
    let bench = at_home(&dir, |_| ());
    assert_eq!((bench.app.page, bench.app.language), (Page::Jobs, Language::En));
    bench.leave();
    let bench = at_home(&dir, |w| w.language_given = true);
    assert_eq!(bench.app.language, Language::Zh, "a language that is asked for now goes before");
    bench.leave();

    std::fs::write(&path, "{\"version\":1,\"page\":\"jo").unwrap();
    let mut bench = at_home(&dir, |_| ());
    let picture = bench.screen(LARGE, "");
    assert!(picture.contains("已改名为 session.json.set-aside"), "{picture}");
    assert_eq!(bench.app.page, Page::Factor, "as if there had been none");
    bench.leave();
    assert!(std::fs::read_to_string(&path).unwrap().contains("\"page\": \"factor\""));

    std::fs::write(&path, "{\"version\":999}").unwrap();
    let mut bench = at_home(&dir, |_| ());
    assert!(bench.screen(LARGE, "").contains("更新的版本"));
    // A second one leaves the file alone.
    std::fs::write(&path, "damaged").unwrap();
    let second = at_home(&dir, |_| ());
    second.leave();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "damaged");
    bench.press("9");
    bench.leave();
}

#[test]
fn told_to_end_by_the_system_it_stops_its_jobs_and_remembers() {
    let dir = empty();
    let counts = [(); 2].map(|()| Arc::new(AtomicUsize::new(0)));
    let run = endless(&counts[0], &counts[1]);
    let mut bench = at_home(&dir, |w| w.run = run);
    bench.press("r");
    bench.wait_until(|app| !app.jobs.list()[0].stages.is_empty());
    bench.app.take(Event::End);
    assert!(bench.app.has_quit(), "nothing is asked");
    bench.leave();
    assert_eq!((counts[0].load(Ordering::SeqCst), counts[1].load(Ordering::SeqCst)), (0, 1));
    let bench = at_home(&dir, |_| ());
    assert_eq!(bench.app.page, Page::Jobs);
    let last: Vec<_> = bench.app.jobs.log.lines().iter().rev().map(|line| &line.event).take(3).collect();
    assert!(
        matches!(last[..], [Happening::Opened { .. }, Happening::Closed, Happening::Cancelled { .. }]),
        "what happened at the end is in the log: {last:?}"
    );
}

#[test]
fn after_a_panic_the_session_that_may_have_led_to_it_is_set_aside() {
    let dir = filled();
    let mut bench = at_home(&dir, |_| ());
    bench.press("9");
    bench.leave();
    at_home(&dir, |_| ()).app.abandon(SOON);
    let path = Project::new(dir.path()).session();
    assert!(!path.exists() && path.with_extension("json.set-aside").exists());
    assert_eq!(at_home(&dir, |_| ()).app.page, Page::Factor);
}

#[test]
fn keys_are_answered_at_once_while_two_threads_are_busy() {
    let run: Runner = Arc::new(|ctx: &Ctx| {
        let spin = || {
            let mut sum = 0_u64;
            while !ctx.is_cancelled() {
                sum = std::hint::black_box(sum.wrapping_mul(31).wrapping_add(7));
            }
        };
        ctx.install(|| rayon::join(spin, spin));
        ctx.check()?;
        Ok(Vec::new())
    });
    let mut bench = Bench::open(&filled(), |w| (w.run, w.threads) = (run, 2));
    bench.screen(LARGE, "r");
    let mut times = Vec::new();
    for round in 0..200 {
        let key = ["j", "k", "1", "7", "9", "v", "L", "?"][round % 8].chars().next().unwrap();
        let began = Instant::now();
        bench.app.take(Event::Key(KeyEvent::from(KeyCode::Char(key))));
        bench.picture(LARGE);
        times.push(began.elapsed());
        bench.take_what_came();
        if key == '?' {
            bench.app.take(Event::Key(KeyEvent::from(KeyCode::Esc)));
        }
    }
    bench.press("<ctrl-c><ctrl-c>");
    bench.finish();
    times.sort();
    let (median, last) = (times[times.len() / 2], times[times.len() - 1]);
    assert!(median < Duration::from_secs(5), "median {median:?}, at most {last:?}");
}

#[test]
fn no_key_on_the_page_breaks_any_size() {
    for size in [(60, 16), SMALL, LARGE, (300, 90), (1, 1)] {
        let mut bench = posed(vec![
            pipeline(full_disk(), half_way()),
            JobEntry::posed(1, "训练", Phase::Running, half_way(), SOON),
        ]);
        bench.app.jobs.log.pose(logged());
        bench.screen(size, "9");
        for key in [
            "j", "k", "<pgdn>", "<end>", "v", "j", "<pgup>", "/", "x", "<enter>", "<esc>", "v", "x", "]", "[", "P",
            "c", "n",
        ] {
            bench.screen(size, key);
        }
    }
}

#[test]
fn what_the_page_lists_can_be_copied() {
    let mut bench = posed(vec![pipeline(Phase::Running, half_way())]);
    bench.app.jobs.log.pose(logged());
    bench.press("9Y");
    let csv = bench.app.take_clipboard().unwrap().replace("\r\n", "\n");
    assert!(csv.starts_with("阶段,输入,输出,剔除,秒\n读取,9520,9500,20,4\n"), "{csv}");
    bench.press("vY");
    let csv = bench.app.take_clipboard().unwrap().replace("\r\n", "\n");
    assert!(csv.starts_with("时间,内容\n2024-03-12 20:00:07,打开工作台 0.1.0\n"), "{csv}");
}
