//! The guided tour: eight boxes over the real pages, each saying what to look at and which key to try.

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::Paragraph;

use super::app::App;
use super::page::Page;
use super::{look, sentences, view};

use inkstone_base::language::Word;

/// A step: its page and what there is to say.
pub(crate) struct TourStep {
    pub page: Page,
    text: Word,
}

/// Said once, after the first run of the demo.
pub(crate) const OFFER: Word =
    Word("演示已就绪。按 U 开始导览（八屏）", "The demo is ready. U: guided tour, in eight screens");

const NAME: Word = Word("导览", "Tour");
const NEXT: Word = Word("Enter → 下一步 · ← 上一步 · Esc 结束", "Enter → next · ← back · Esc ends");

const fn step(page: Page, chinese: &'static str, english: &'static str) -> TourStep {
    TourStep { page, text: Word(chinese, english) }
}

/// The steps, in the order of the data.
pub(crate) static STEPS: [TourStep; 8] = [
    step(
        Page::Corpus,
        "这里是全部文档：发布时间、证券代码、类型、标题，旁边是正文。“重”表示它重复了更早的一篇。试试 / 输入“业绩”搜索，t 换一种切词。",
        "All documents: when they were published, codes, kind, title, and the text beside. ≈ marks repeats of an earlier one. Try / to search and t for its tokens.",
    ),
    step(
        Page::Text,
        "同一篇文档在不同分词器下的样子，以及各种截断策略保留和丢掉的部分。模型读不完长文时，丢掉的可能正是评级与风险提示。试试 j、k。",
        "One document under several tokenisers, and what each strategy of truncation keeps and drops: for a long report it may drop the rating itself. Try j and k.",
    ),
    step(
        Page::Models,
        "演示训练的词向量（近邻、类比、平面图）和三元语言模型（困惑度）。它们读过全部文档，只供查看；特征里的模型按时间滚动训练。试试 j、k 和 n。",
        "Word vectors and a trigram model that the demo trained: neighbours, analogies, perplexity. They have read all documents; models in features never read later ones. Try j, k, n.",
    ),
    step(
        Page::Features,
        "每篇文档算出的数：覆盖了多少文档、有没有缺失、数值从哪一刻起可知。因子就是由它们汇总而来。试试 j、k 换一个特征集。",
        "What was computed of each document: how many have it, what is missing, and from when it was known. Factors are gathered from these. Try j and k.",
    ),
    step(
        Page::Experiments,
        "长文截断策略的两个对照实验：谁更准，差别是否显著（区间、校正后的 p 值）。评级实验里，砍掉标题后保留开头还是结尾？试试 ]、v。",
        "Two comparisons of truncations: which is better, and whether the difference is more than chance (intervals, corrected p). Without titles, is it the head or the tail? Try ] and v.",
    ),
    step(
        Page::Factor,
        "因子的检验：RankIC、分层、多空净值、换手。这个市场是合成的：图上方写着植入的真值，测得的数与它并排。试试 ] 换一个因子，v 换分层图。",
        "The tests of a factor: RankIC, layers, the long-short portfolio. The market is made, so what was planted stands above the charts beside what was found. Try ] for the next factor, v.",
    ),
    step(
        Page::Ledger,
        "台账记下每一次回测，不论好坏。试得越多，偶然得到好结果的机会越大：夏普因此按试验次数打折（DSR）。试试 j、k。",
        "Every backtest that ever ran, good or bad. The more you try, the likelier a good one is luck: Sharpe ratios are deflated by the number of trials. Try j and k.",
    ),
    step(
        Page::Jobs,
        "流水线的每一步：进出多少、剔除多少及原因。没有变化的阶段会跳过。试试 x 看导入时拒收的行，然后按 , 看设置。导览到此结束。",
        "Every stage of the pipeline: what went in and out, what was dropped and why. Unchanged stages are skipped. Try x for the rejected rows, then , for the settings. This ends the tour.",
    ),
];

/// Which step a key leads to: `None` where it is no key of the tour, `Some(None)` where it ends it.
pub(crate) fn intent(step: usize, key: &KeyEvent) -> Option<Option<usize>> {
    match key.code {
        KeyCode::Enter | KeyCode::Right => Some(Some(step + 1).filter(|next| *next < STEPS.len())),
        KeyCode::Left => Some(Some(step.saturating_sub(1))),
        KeyCode::Esc => Some(None),
        _ => None,
    }
}

/// Draws the box at the bottom of the page.
pub(crate) fn draw(app: &App, step: usize, frame: &mut Frame<'_>, page: Rect) {
    let Some(shown) = STEPS.get(step) else { return };
    let wide = page.width.min(100);
    let cells = usize::from(wide.saturating_sub(4));
    let lines = sentences::lines(app.say(shown.text), cells);
    let lines: Vec<Line<'_>> = lines.into_iter().map(|line| Line::raw(format!(" {line}"))).collect();
    let height = u16::try_from(lines.len()).unwrap_or(u16::MAX).saturating_add(2).min(page.height);
    let area =
        Rect { x: page.x + (page.width - wide) / 2, y: page.bottom().saturating_sub(height), width: wide, height };
    let title = format!(" {} {}/{} · {} ", app.say(NAME), step + 1, STEPS.len(), app.say(shown.page.name()));
    let block = look::pane(Line::styled(title, look::STRONG), true).title_bottom(format!(" {} ", app.say(NEXT)));
    view::clear(frame, area);
    frame.render_widget(Paragraph::new(lines).block(block), area);
}

#[cfg(test)]
mod tests {
    use crate::bench::{Bench, LARGE, SMALL, filled};
    use crate::{Language, Start};

    #[test]
    fn the_tour_goes_through_eight_pages_and_back() {
        let mut bench = Bench::open(&filled(), |_| ());
        insta::assert_snapshot!("tour_first", bench.screen(SMALL, "U"));
        insta::assert_snapshot!("tour_factor_english", bench.screen(LARGE, "L<enter><enter><enter><enter><enter>"));
        assert!(bench.screen(SMALL, "<left>").contains("Tour 5/8 · Experiments"));
        assert!(bench.screen(SMALL, "<right><enter><enter>").contains("Tour 8/8 · Jobs"));
        assert!(!bench.screen(SMALL, "<enter>").contains("Tour"), "behind the last step it ends");
        bench.press("U<esc>");
        assert_eq!(bench.app.over.tour, None);
    }

    #[test]
    fn keys_that_are_tried_meanwhile_do_what_they_always_do() {
        let mut bench = Bench::open(&filled(), |_| ());
        let typing = bench.screen(SMALL, "U/回购<enter>");
        assert!(typing.contains("导览 1/8") && typing.contains("1 / 2 (9)"), "{typing}");
        assert!(bench.screen(LARGE, "?<pgdn><pgdn><pgdn>").contains("八屏导览"));
    }

    #[test]
    fn every_step_fits_the_smallest_page_in_both_languages() {
        let mut bench = Bench::open(&filled(), |_| ());
        for language in [Language::Zh, Language::En] {
            bench.app.language = language;
            bench.press("U");
            for step in 1..=8 {
                let screen = bench.screen((60, 16), "");
                assert!(screen.contains(&format!("{step}/8")), "{screen}");
                let ends = super::STEPS[step - 1].text.to(language).chars().rev().take(5).collect::<Vec<_>>();
                let ends: String = ends.into_iter().rev().collect();
                assert!(screen.replace(['\n', '│', ' '], "").contains(&ends.replace(' ', "")), "{ends} in {screen}");
                bench.press("<enter>");
            }
        }
    }

    #[test]
    fn the_tour_is_offered_after_the_first_run_of_the_demo_alone() {
        let dir = crate::bench::empty();
        let mut bench = Bench::open(&dir, |w| w.start = Start::RunThenFactor);
        bench.finish();
        assert!(bench.screen(SMALL, "").contains("按 U 开始导览"));
        let mut bench = Bench::open(&filled(), |w| w.start = Start::RunThenFactor);
        bench.finish();
        assert!(!bench.screen(SMALL, "").contains("按 U 开始导览"));
    }
}
