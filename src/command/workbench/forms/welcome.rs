//! The first screen as text.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use super::bench as form_bench;
use crate::cli::DEMO_FOLDER;
use inkstone_tui::testing::{
    Bench, Event, KeyCode, LARGE, SMALL, SOON, Scene, Terminal, TestBackend, Welcome, empty, picture_text, sequence,
};
use inkstone_tui::{Change, Language, WelcomeBench, Workspace};

struct First {
    welcome: Welcome,
    events: Receiver<Event>,
}

impl First {
    fn open(folder: &Path, demo: impl Fn() -> anyhow::Result<Workspace> + Send + Sync + 'static) -> First {
        let forms = form_bench(&folder.join("workbench.toml"));
        let (to_begin, inside) = (forms.clone(), folder.to_owned());
        let bench = WelcomeBench {
            demo: Arc::new(demo),
            begin: Arc::new(move |source| {
                let sheet = (to_begin.read)()?;
                (to_begin.save)(&(to_begin.change)(&sheet, &Change::Source(Box::new(source.clone())))?)?;
                Ok(workspace(&inside))
            }),
            forms,
            language: Language::Zh,
            threads: 1,
        };
        let (sender, events) = channel();
        First { welcome: Welcome::new(bench, SMALL, sender), events }
    }

    fn press(&mut self, keys: &str) {
        for key in sequence(keys).unwrap() {
            self.welcome.take(Event::Key(key));
            let until = Instant::now() + SOON;
            while self.welcome.waiting() {
                assert!(Instant::now() < until, "an answer never came");
                if let Ok(event) = self.events.recv_timeout(Duration::from_millis(20)) {
                    self.welcome.take(event);
                }
            }
        }
    }

    fn screen(&mut self, size: (u16, u16), keys: &str) -> String {
        self.welcome.take(Event::Resize(size.0, size.1));
        self.press(keys);
        let mut terminal = Terminal::new(TestBackend::new(size.0, size.1)).unwrap();
        terminal.draw(|frame| self.welcome.draw(frame)).unwrap();
        picture_text(terminal.backend().buffer())
    }
}

fn workspace(folder: &Path) -> Workspace {
    let dir = empty();
    let mut made = None;
    drop(Bench::open(&dir, |w| made = Some(w.clone())));
    Workspace { title: folder.file_name().unwrap().to_string_lossy().into_owned(), ..made.unwrap() }
}

/// The folder's name differs from run to run.
fn scrubbed(picture: &str, folder: &Path) -> String {
    let begun: String = folder.display().to_string().chars().take(20).collect();
    picture.lines().map(|line| if line.contains(&begun) { "│ …\n".to_owned() } else { format!("{line}\n") }).collect()
}

#[test]
fn three_ways_to_begin() {
    let dir = empty();
    let mut first = First::open(dir.path(), || inkstone_base::bail!("磁盘已满", "the disk is full"));
    let begun = first.screen(SMALL, "");
    assert!(begun.contains(&format!("./{DEMO_FOLDER} ")), "the folder of `inkstone demo`: {begun}");
    insta::assert_snapshot!("welcome", scrubbed(&begun, dir.path()));
    insta::assert_snapshot!("welcome_large_english", scrubbed(&first.screen(LARGE, "Ljj"), dir.path()));
    let failed = first.screen(SMALL, "d");
    assert!(failed.contains("Not opened: the disk is full") && !first.welcome.is_over(), "{failed}");
    first.welcome.take(Event::Resize(20, 5));
    for size in [(60, 16), (1, 1), (300, 90)] {
        first.screen(size, "");
    }
    first.press("q");
    assert!(first.welcome.is_over() && first.welcome.into_opened().is_none());
}

#[test]
fn the_demo_is_opened_in_the_language_that_was_chosen() {
    let dir = empty();
    let folder = dir.path().to_owned();
    let mut first = First::open(dir.path(), move || Ok(workspace(&folder)));
    first.press("Ld");
    assert!(first.welcome.is_over());
    assert_eq!(first.welcome.into_opened().map(|workspace| workspace.language), Some(Language::En));
}

#[test]
fn the_guide_is_read_from_end_to_end_in_both_languages() {
    let dir = empty();
    let mut first = First::open(dir.path(), || inkstone_base::bail!("否", "no"));
    insta::assert_snapshot!("guide", first.screen(SMALL, "g"));
    insta::assert_snapshot!("guide_end_english", first.screen(LARGE, "LG"));
    assert!(first.screen(SMALL, "g").contains("A guide to Inkstone"));
    assert!(first.screen(SMALL, "<esc>").contains("Read the guide"));
}

#[test]
fn a_file_becomes_a_project() {
    let dir = empty();
    let mut bytes = "标题,正文,时间\n".as_bytes().to_vec();
    bytes.extend("瑞禾电气业绩预增,正文。,2024-03-01 18:00\n".as_bytes());
    fs::write(dir.path().join("news.csv"), bytes).unwrap();
    let mut first = First::open(dir.path(), || inkstone_base::bail!("否", "no"));
    assert!(first.screen(SMALL, "o").contains("news.csv"));
    assert!(first.screen(SMALL, "<enter>").contains("接受 1"));
    first.press("s");
    assert!(first.welcome.is_over());
    let text = fs::read_to_string(dir.path().join("workbench.toml")).unwrap();
    let config = crate::config::Config::parse("w", &text).unwrap();
    assert_eq!((config.source[0].path.as_str(), config.source.len()), ("news.csv", 1));
    assert_eq!(config.project.name, dir.path().file_name().unwrap().to_string_lossy());
    assert!(text.contains("# 本文件列出全部设置"), "the comments of the template are there");
}

#[test]
fn keys_come_while_a_project_is_being_opened() {
    let dir = empty();
    let mut first = First::open(dir.path(), || {
        std::thread::sleep(Duration::from_millis(300));
        inkstone_base::bail!("晚了", "late")
    });
    first.welcome.take(Event::Key(KeyCode::Char('d').into()));
    let begun = Instant::now();
    let picture = {
        let mut terminal = Terminal::new(TestBackend::new(80, 24)).unwrap();
        terminal.draw(|frame| first.welcome.draw(frame)).unwrap();
        picture_text(terminal.backend().buffer())
    };
    assert!(picture.contains("打开中") && begun.elapsed() < Duration::from_secs(5), "{picture}");
    first.welcome.take(Event::Key(KeyCode::Esc.into()));
    assert!(first.screen(SMALL, "").contains("看演示"));
}
