//! The first screen as text.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use super::bench as form_bench;
use crate::cli::DEMO_FOLDER;
use inkstone_tui::testing::{
    Bench, Event, KeyCode, LARGE, Mending, SMALL, SOON, Scene, Terminal, TestBackend, Welcome, empty, picture_text,
    sequence,
};
use inkstone_tui::{Change, Language, MendingBench, Reopen, Template, WelcomeBench, Workspace};

struct First {
    welcome: Welcome,
    events: Receiver<Event>,
}

impl First {
    fn open(folder: &Path, demo: impl Fn() -> anyhow::Result<Workspace> + Send + Sync + 'static) -> First {
        let forms = form_bench(&folder.join("workbench.toml"));
        let (to_begin, inside, other) = (forms.clone(), folder.to_owned(), folder.join("flashes"));
        let mut projects: Vec<(String, Reopen)> = Vec::new();
        if other.exists() {
            projects.push(("flashes".to_owned(), Arc::new(move || Ok(workspace(&other)))));
        }
        let bench = WelcomeBench {
            demo: Arc::new(demo),
            projects,
            begin: Arc::new(move |sources, with_tone| {
                let mut sheet = (to_begin.read)()?;
                for source in sources {
                    sheet = (to_begin.change)(&sheet, &Change::Source(Box::new(source.clone())))?;
                }
                let further = if with_tone { Template::Tone.changes(&sheet) } else { Vec::new() };
                for change in further {
                    sheet = (to_begin.change)(&sheet, &change)?;
                }
                (to_begin.save)(&sheet)?;
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
fn a_project_within_the_folder_is_one_key_away() {
    let dir = empty();
    std::fs::create_dir(dir.path().join("flashes")).unwrap();
    for keys in ["1", "jjj<enter>", "jjjj<enter>"] {
        let mut first = First::open(dir.path(), || inkstone_base::bail!("没有演示", "no demo"));
        let screen = first.screen(SMALL, "");
        assert!(screen.contains("1    打开项目 flashes"), "{screen}");
        first.press("2");
        assert!(!first.welcome.is_over(), "there is no second project");
        first.press(keys);
        assert!(first.welcome.is_over() && first.welcome.into_opened().is_some(), "{keys}");
    }
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
    let asked = first.screen(SMALL, "s");
    assert!(asked.contains("✓ 文档: news.csv") && asked.contains("没有日线价格就没有因子"), "{asked}");
    assert!(first.screen(SMALL, "n").contains("选择证券表"));
    first.press("n");
    assert!(first.welcome.is_over(), "without prices there is no factor to ask for");
    let text = fs::read_to_string(dir.path().join("workbench.toml")).unwrap();
    let config = crate::config::Config::parse("w", &text).unwrap();
    assert_eq!((config.source[0].path.as_str(), config.source.len()), ("news.csv", 1));
    assert_eq!(config.project.name, dir.path().file_name().unwrap().to_string_lossy());
    assert!(text.contains("# 本文件列出全部设置"), "the comments of the template are there");
}

#[test]
fn prices_are_asked_for_and_a_first_factor_is_added() {
    let dir = empty();
    fs::write(dir.path().join("news.csv"), "标题,正文,时间\n瑞禾电气业绩预增,正文。,2024-03-01 18:00\n").unwrap();
    fs::write(dir.path().join("prices.csv"), "date,code,open,close,volume\n2024-03-01,600001.SH,1,1,1\n").unwrap();
    let mut first = First::open(dir.path(), || anyhow::bail!("no"));
    first.press("o");
    assert!(first.screen(SMALL, "<enter>s").contains("选择日线价格表"));
    assert!(first.screen(SMALL, "<enter>j<enter>").contains("prices"), "the same chooser");
    first.press("s");
    let asked = first.screen(LARGE, "nL");
    assert!(asked.contains("Add a feature of tone") && asked.contains("✓ prices: prices.csv"), "{asked}");
    first.press("<enter>");
    assert!(first.welcome.is_over());
    let config = crate::config::Config::read(&dir.path().join("workbench.toml")).unwrap();
    assert_eq!((config.source.len(), config.feature.len(), config.factor.len()), (2, 1, 1));
    assert_eq!(config.factor[0].name, "tone");
}

#[test]
fn a_configuration_that_cannot_be_read_opens_at_its_fault() {
    let dir = empty();
    let file = dir.path().join("workbench.toml");
    fs::write(&file, "[project]\nname = \"x\"\n\n[clean]\nwindow_days = \"thirty\"\n").unwrap();
    let folder = dir.path().to_owned();
    let (sender, events) = channel();
    let bench = MendingBench {
        forms: form_bench(&file),
        open: Arc::new(move || Ok(workspace(&folder))),
        language: Language::Zh,
        threads: 1,
    };
    let mut mending = Mending::new(bench, SMALL, sender);
    let settle = |mending: &mut Mending, keys: &str| {
        let until = Instant::now() + SOON;
        let wait = |mending: &mut Mending| {
            while mending.waiting() {
                assert!(Instant::now() < until, "an answer never came");
                if let Ok(event) = events.recv_timeout(Duration::from_millis(20)) {
                    mending.take(event);
                }
            }
        };
        wait(mending);
        for key in sequence(keys).unwrap() {
            mending.take(Event::Key(key));
            wait(mending);
        }
        let mut terminal = Terminal::new(TestBackend::new(80, 24)).unwrap();
        terminal.draw(|frame| mending.draw(frame)).unwrap();
        picture_text(terminal.backend().buffer())
    };
    let begun = settle(&mut mending, "");
    assert!(begun.contains("window_days") && begun.contains("1 个问题"), "{begun}");
    assert!(!mending.is_over());
    let refused = settle(&mut mending, "s");
    assert!(refused.contains("先改正"), "{refused}");
    settle(&mut mending, "d");
    settle(&mut mending, "s");
    assert!(mending.is_over() && mending.into_opened().is_some());
    assert!(crate::config::Config::read(&file).is_ok());
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
