//! Every page as it stands with nothing there yet, with something to see, with a job under way, and after one that failed: in Chinese on
//! the least screen, in English on a large one.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tempfile::TempDir;

use super::bench::{Bench, LARGE, SMALL, empty, filled};
use super::page::Page;
use super::{Language, Runner};

use inkstone_base::bail;

/// Pages whose picture in this state is snapped; times on the page of jobs are never the same, and its own tests have them.
fn snap(state: &str, dir: &Arc<TempDir>, run: Option<Runner>, pages: &[Page]) {
    for (size, language) in [(SMALL, Language::Zh), (LARGE, Language::En)] {
        let mut bench = Bench::open(dir, |w| {
            w.language = language;
            if let Some(run) = &run {
                w.run = run.clone();
            }
        });
        if run.is_some() {
            bench.press_at_once("9r");
            let begun = |app: &super::app::App| app.jobs.list().last().and_then(|job| job.share()) == Some(0.4);
            bench.wait_until(|app| begun(app) || !app.busy());
        }
        if state == "failed" {
            bench.finish();
        }
        for (number, page) in Page::tabs().iter().enumerate().filter(|(_, page)| pages.contains(page)) {
            let name = format!("{state}_{}_{}", page.name().1.to_lowercase(), size.0);
            insta::assert_snapshot!(name, bench.screen(size, &(number + 1).to_string()));
        }
    }
}

#[test]
fn every_page_says_what_to_do_where_nothing_is_there() {
    snap("empty", &empty(), None, Page::tabs());
}

#[test]
fn every_page_shows_what_there_is() {
    snap("filled", &filled(), None, Page::tabs());
}

#[test]
fn every_page_goes_on_while_a_job_is_under_way() {
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = stop.clone();
    let run: Runner = Arc::new(move |ctx| {
        let work = || {
            ctx.advance(40)?;
            while !stopped.load(Ordering::Relaxed) {
                ctx.check()?;
                std::thread::sleep(Duration::from_millis(5));
            }
            Ok(inkstone_base::data::Report::new("clean"))
        };
        Ok(vec![ctx.stage("clean", "docs", Some(100), work)?])
    });
    snap("running", &filled(), Some(run), &Page::ALL[..8]);
    stop.store(true, Ordering::Relaxed);
}

#[test]
fn every_page_tells_that_a_job_failed() {
    let run: Runner = Arc::new(|_| {
        bail!(
            "clean：无法写入 part-00001.parquet：磁盘已满（No space left on device）",
            "clean: cannot write part-00001.parquet: No space left on device"
        )
    });
    snap("failed", &filled(), Some(run), &Page::ALL[..8]);
}
