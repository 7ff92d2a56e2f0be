//! Screens of the page of models, with models that are made up.

use std::sync::{Arc, Barrier};

use anyhow::bail;
use regex::Regex;

use super::testing::{bench, cards, counts};
use super::{ModelCard, Tool};
use crate::bench::{Bench, LARGE, SMALL, empty};
use crate::page::Page;
use crate::page_state::PageState;
use crate::{Runner, Workspace};
use inkstone_base::data::Report;

fn models(cards: Vec<ModelCard>, work: Runner) -> Bench {
    opened(|w| w.models = Some(bench(cards, work)))
}

fn opened(change: impl FnOnce(&mut Workspace)) -> Bench {
    let mut bench = Bench::open(&empty(), change);
    bench.press("3");
    bench
}

/// A picture without times and rates, which no two runs share.
fn without_times(picture: &str) -> String {
    let time = Regex::new(r"(\d+(\.\d+)?[kM]?|–)( \S+)?/s|\d+\.\d+s|\d+m\d\ds").unwrap();
    picture.lines().map(|line| time.replace_all(line, "T").trim_end_matches([' ', '│']).to_owned() + "\n").collect()
}

#[test]
fn files_are_listed_with_what_they_have_seen() {
    let mut bench = models(cards(), counts());
    insta::assert_snapshot!("list", bench.screen(SMALL, "G"));
    insta::assert_snapshot!("list_large_english", bench.screen(LARGE, "L"));
    let ngram = bench.screen(SMALL, "gj");
    assert!(ngram.contains("the file does not say until when") && ngram.contains("w what follows"), "{ngram}");
    let broken = bench.screen(SMALL, "k");
    assert!(broken.contains("✗ tfidf") && broken.contains("this file cannot be used: models/cut.model is cut short"));
    assert!(!broken.contains("nearest"), "a file that cannot be read is offered no tool: {broken}");
    let tfidf = bench.screen(SMALL, "jj");
    assert!(tfidf.contains("A model of this kind cannot be asked for words"), "{tfidf}");
}

#[test]
fn an_empty_page_says_what_to_press() {
    let mut bench = models(Vec::new(), counts());
    insta::assert_snapshot!("none", bench.screen(SMALL, ""));
    insta::assert_snapshot!("none_english", bench.screen(SMALL, "L"));
    let mut none = opened(|_| ());
    assert!(none.screen(SMALL, "").contains("这里没有项目"));
    let mut failed = opened(|w| {
        let mut bench = self::bench(Vec::new(), counts());
        bench.list = Arc::new(|_| bail!("cannot read models: permission denied"));
        w.models = Some(bench);
    });
    assert!(failed.screen(SMALL, "").contains("cannot read models: permission denied"));
}

#[test]
fn words_are_asked_for_and_walked_along() {
    let mut bench = models(cards(), counts());
    insta::assert_snapshot!("nearest", bench.screen(SMALL, "Gn回购<enter>"));
    insta::assert_snapshot!("nearest_large_english", bench.screen(LARGE, "Ljj"));
    assert!(bench.app.command().contains("inkstone nearest --model models/word2vec.model --words 回购 -k 40"));
    let walked = bench.screen(SMALL, "<enter>");
    assert!(walked.contains("word › 股份回购"), "{walked}");
    let unknown = bench.screen(SMALL, "/<backspace><backspace><backspace><backspace>回沟<enter>");
    assert!(unknown.contains("the model does not know: 回沟") && unknown.contains("回购"), "{unknown}");
    assert!(bench.screen(SMALL, "<enter>").contains("word › 回购"), "a word that is proposed can be taken");
    let made = bench.screen(SMALL, "/<backspace><backspace>生造词<enter>");
    assert!(made.contains("生造词: not among its words"), "{made}");
    let nothing = bench.screen(SMALL, "/<backspace><backspace><backspace>\u{1f5ff}\u{1b}[31m<enter>");
    assert!(nothing.contains("Nothing is written alike") && !nothing.contains('\u{1b}'), "{nothing}");
    // Three words, no more and no fewer.
    assert!(bench.screen(SMALL, "a涨 大涨<enter>").contains("an analogy takes three words"));
    insta::assert_snapshot!("analogy", bench.screen(SMALL, "L/ 跌<enter>"));
    assert!(bench.app.command().contains("--words 大涨,跌 --minus 涨"));
    let table = bench.app.at_desk(|desk| bench.app.state(Page::Models).table(desk)).unwrap();
    assert_eq!((table.rows.len(), &*table.rows[0][0]), (12, "增持"));
    assert!(bench.screen(SMALL, "<esc>").contains("4 / 4"));
}

#[test]
fn the_line_opens_with_the_old_text_selected_and_for_what_an_input_method_sends() {
    let mut bench = models(cards(), counts());
    bench.press("Gn回购<enter>");
    let again = bench.screen(SMALL, "n增<enter>");
    assert!(again.contains("词 › 增 ") && bench.app.command().contains("--words 增 -k"), "{again}");
    // The old answer stays until another word is asked for; Down goes back to it.
    let kept = bench.screen(SMALL, "n<down>");
    assert!(kept.contains("词 › 增 ") && !bench.app.typing(), "{kept}");
    // Esc leaves the text as it was, and / goes on behind it.
    bench.press("n<esc>/持<enter>");
    assert!(bench.app.command().contains("--words 增持 -k"), "{}", bench.app.command());
    // Words that are typed or pasted outside the line open it.
    bench.press("减持<enter>");
    assert!(bench.app.command().contains("--words 减持 -k"), "{}", bench.app.command());
    bench.app.take(crate::event::Event::Paste("分红".into()));
    bench.press("<enter>");
    assert!(bench.app.command().contains("--words 分红 -k"), "{}", bench.app.command());
    // A model without words has no line.
    bench.press("<esc>gg");
    assert!(!bench.app.models.can_type());
    bench.press("回购");
    assert!(!bench.app.typing());
}

#[test]
fn words_lie_in_the_plane() {
    let mut bench = models(cards(), counts());
    insta::assert_snapshot!("plane", bench.screen(SMALL, "Gp"));
    insta::assert_snapshot!("plane_large_english", bench.screen(LARGE, "L"));
    let charts = bench.app.at_desk(|desk| bench.app.state(Page::Models).charts(desk));
    assert_eq!((charts.len(), &*charts[0].svg), (1, "<svg/>"));
    assert!(
        bench.app.command().ends_with("--model models/word2vec.model --clusters 3 --top 150 --output projection.svg")
    );
    assert!(bench.screen(SMALL, "p").contains("PCA") && bench.app.command().contains("--method tsne"));
    bench.press("p/回购<enter>");
    assert!(bench.app.command().contains("--words 回购,增持,减持"), "{}", bench.app.command());
}

#[test]
fn what_follows_a_text_is_listed_and_can_be_taken() {
    let mut bench = models(cards(), counts());
    insta::assert_snapshot!("following", bench.screen(SMALL, "jw公司 拟 回购<enter>"));
    assert!(bench.app.command().ends_with("--format text --after '公司 拟 回购' --top-k 40"));
    let taken = bench.screen(SMALL, "<enter>");
    assert!(taken.contains("公司 拟 回购股份"), "{taken}");
    let unknown = bench.screen(SMALL, "/辰光<enter>");
    assert!(unknown.contains("未知词: 辰光"), "{unknown}");
    // The end is no word to go on with.
    let end = bench.screen(SMALL, "jjj<enter>");
    assert!(end.contains("</s> 结束") && !end.contains("股份辰光</s>"), "{end}");
}

#[test]
fn a_sentence_is_shown_with_the_surprise_of_each_token() {
    let mut bench = models(cards(), counts());
    let sentence = "启澜生物 拟 以 自有资金 2亿元 至 3亿元 回购 股份 ， 𠮷 与 📈 不 在 词表 里";
    insta::assert_snapshot!("surprise", bench.screen(SMALL, &format!("ju{sentence}<enter>")));
    insta::assert_snapshot!("surprise_large_english", bench.screen(LARGE, "L"));
    assert!(bench.app.command().contains("explain --model models/news.arpa --format text --text '启澜生物 拟"));
    // A text of a million characters is cut, and said to be; it is scrolled by rows.
    bench.app.take(crate::event::Event::Key(crossterm::event::KeyEvent::from(crossterm::event::KeyCode::Char('/'))));
    bench.app.take(crate::event::Event::Paste("长 ".repeat(500_000)));
    assert!(bench.picture(SMALL).contains("only the beginning is taken"));
    let first = bench.screen(SMALL, "<enter>");
    assert!(first.contains("1–3/"), "{first}");
    assert!(bench.screen(SMALL, "jj").contains("3–5/"));
    let last = bench.screen(SMALL, "G");
    assert!(last.contains("</s>"), "{last}");
}

#[test]
fn another_model_is_asked_the_same() {
    let mut other = cards().remove(3);
    (other.path, other.name) = ("models/gone.model".into(), "models/gone.model".to_owned());
    let mut bench = models([cards(), vec![other]].concat(), counts());
    bench.screen(SMALL, "jjjn回购<enter>");
    let gone = bench.screen(SMALL, "]");
    assert!(gone.contains("cannot open models/gone.model"), "{gone}");
    assert!(bench.screen(SMALL, "[").contains("0.8731"));
    // A model without words is not asked for any.
    let none = bench.screen(SMALL, "[");
    assert!(none.contains("这类模型没有可问的词"), "{none}");
    assert!(!bench.app.models.offers(Tool::Nearest));
}

#[test]
fn the_form_is_checked_line_by_line_before_anything_starts() {
    let mut bench = models(cards(), counts());
    insta::assert_snapshot!("form", bench.screen(SMALL, "t"));
    insta::assert_snapshot!("form_large_english", bench.screen(LARGE, "L<right>"));
    assert_eq!(
        bench.app.command(),
        "inkstone train fasttext --input .inkstone/clean --output models/fasttext.model --minn 1 --maxn 3 --dict words.txt"
    );
    // word2vec.model is there: the name that is proposed is another.
    bench.press("<left>");
    assert!(bench.app.command().contains("--output models/word2vec-2.model"), "{}", bench.app.command());
    let faults = bench.screen(SMALL, "jjj/ 2024-02-30<enter>");
    insta::assert_snapshot!("form_faults_english", faults);
    let refused = bench.screen(SMALL, "<enter>");
    assert!(refused.contains("fix what is marked first") && !bench.app.busy(), "{refused}");
    // The disk is asked too, and Esc takes back what was typed.
    let nowhere = bench.screen(SMALL, "gj/\u{0}nowhere.jsonl<enter>");
    assert!(nowhere.contains("✗ there is no nowhere.jsonl"), "{nowhere}");
    let kept = bench.screen(SMALL, "k/zzz<esc>");
    assert!(!kept.contains("zzz") && kept.contains("nowhere.jsonl"), "{kept}");
    // A kind is found by some letters of its name; a switch and a choice turn.
    assert!(bench.screen(LARGE, "g/gram<enter>").contains("‹ ngram ›"));
    assert!(bench.app.command().starts_with("inkstone train ngram "), "{}", bench.app.command());
    bench.press("gjjjjj<right>");
    assert!(bench.app.command().contains("--smoothing katz"), "{}", bench.app.command());
    bench.press("g/word<enter>gjjjj<right>");
    assert!(bench.app.command().contains(" --sg"), "{}", bench.app.command());
    assert!(bench.screen(LARGE, "g/nothing<enter>").contains("‹ word2vec ›"), "no kind has this name");
}

#[test]
fn a_training_shows_its_loss_while_it_lasts_and_the_model_afterwards() {
    let barrier = Arc::new(Barrier::new(2));
    let held = barrier.clone();
    let work: Runner = Arc::new(move |ctx| {
        let report = ctx.stage("word2vec", "words", Some(1000), || {
            for step in 0..8 {
                ctx.note(format!("epoch {}, loss {:.4}, lr 0.02", 1 + step / 4, 2.5 / f64::from(step + 1).sqrt()));
                ctx.advance(100)?;
                held.wait();
                held.wait();
            }
            Ok(Report::new("word2vec"))
        })?;
        Ok(vec![report])
    });
    let mut bench = models(cards(), work);
    bench.press("t");
    bench.press("<enter>");
    for step in 0..8 {
        barrier.wait();
        bench.wait_until(|app| app.models.losses_seen() > step);
        if step < 7 {
            barrier.wait();
        }
    }
    let picture = bench.picture(SMALL);
    insta::assert_snapshot!("training", without_times(&picture));
    insta::assert_snapshot!("training_large_english", without_times(&bench.screen(LARGE, "L")));
    // The list is at hand meanwhile, and says so; t comes back.
    let list = bench.screen(LARGE, "<esc>");
    assert!(list.contains("training word2vec 0.88"), "{list}");
    bench.press("t");
    barrier.wait();
    bench.finish();
    let done = bench.screen(SMALL, "");
    assert!(done.contains("trained") && done.contains("Enter show the model"), "{done}");
    // The curve is kept for the next training, and let go by the same key.
    let command = |bench: &Bench| bench.app.models.can(crate::action::Action::KeepCurve, &bench.app.context());
    assert!(command(&bench));
    bench.press("m");
    assert!(bench.app.models.keeps_curve());
    bench.press("m");
    assert!(!bench.app.models.keeps_curve());
    assert!(bench.screen(SMALL, "<enter>").contains(" / 4"));
}

#[test]
fn a_training_that_fails_says_why_and_what_to_press() {
    let mut bench = models(
        cards(),
        Arc::new(|_| {
            inkstone_base::bail!(
                "第 2 轮（共 5 轮）损失不再是数：请降低 --lr",
                "the loss is no longer a number in epoch 2 of 5: lower --lr"
            )
        }),
    );
    bench.press("t");
    bench.press("<enter>");
    bench.finish();
    insta::assert_snapshot!("training_failed", bench.screen(SMALL, ""));
    assert!(bench.screen(SMALL, "<enter>").contains("‹ word2vec ›"), "back in the form");
    let mut bench = models(cards(), Arc::new(|_| panic!("no such matrix")));
    bench.press("t<enter>");
    bench.finish();
    assert!(bench.screen(SMALL, "").contains("任务没有开始，或中途断掉"));
    let mut bench = models(cards(), counts());
    bench.press("t<enter>");
    bench.finish();
    assert!(bench.screen(SMALL, "").contains("这种训练只计数"));
}

#[test]
fn a_session_goes_on_where_the_last_one_was() {
    let mut bench = models(cards(), counts());
    bench.press("jjjn回购<enter>");
    let memory = bench.app.models.remember();
    let mut models = super::ModelsPage::default();
    models.recall(&memory);
    assert_eq!(models.remember()["texts"][0], "回购");
    models.recall(&serde_json::json!({"model": 7, "texts": ["a\u{1b}[2J", 3]}));
    assert_eq!(models.remember()["texts"][0], "a [2J");
}

#[test]
fn a_click_marks_a_file() {
    let mut bench = models(cards(), counts());
    bench.screen(SMALL, "");
    let area = crate::view::page_area(bench.app.size);
    let at = ratatui::layout::Position::new(5, area.y + 3);
    let mut models = std::mem::take(&mut bench.app.models);
    bench.app.at_desk(|desk| models.click(at, area, desk));
    assert_eq!(models.card().unwrap().name, "models/news.arpa");
    bench.app.at_desk(|desk| models.click(ratatui::layout::Position::new(5, area.y + 1), area, desk));
    assert_eq!(models.card().unwrap().name, "models/news.arpa", "the line of titles is no file");
}
