//! The sections of a document, by headings and by what sentences say themselves.
//!
//! Rules, in the order in which they win:
//!
//! 1. The title is the title.
//! 2. A heading that is all of its line opens a section, itself included, until the next heading. A summary ends with the paragraph of
//!    forecast, rating or risk in it as well, and no section goes on for longer than reports write it ([`Section`] by section, in
//!    characters: summary 1,500, forecast 1,200, rating 600, risk 800). Legal notes go on until two lines in a row say nothing
//!    of the law.
//! 3. A heading before its text (风险提示：...) makes its section of the line, or of the rest of it.
//! 4. Sentences with cues of their own are Header, Disclaimer or Rating wherever they stand, but in legal notes, where 买入 is
//!    explained, not said; and Risk stays Risk unless law interrupts it.
//! 5. Up to two sentences between two that are of the law by their words are of it as well.
//! 6. All else is Body.

use std::ops::Range;

use super::Section;
use super::cues::{cues, says_law, section_of};
use super::headings::{Stands, heading, is_chapter};
use inkstone_text::sentences;

/// Lines in a row that must say nothing of the law before legal notes have ended.
const LAWLESS: usize = 2;

/// Sentences between two of the law that belong to it though they do not say so.
const GAP: usize = 2;

/// The sections of a text whose first `title` bytes are its title: stretches of whole sentences in order, apart from each other,
/// neighbours of different sections. White space between sentences is in the stretch around it or in none.
pub fn outline(text: &str, title: usize) -> Vec<(Range<usize>, Section)> {
    let mut stretches: Vec<(Range<usize>, Section)> = Vec::new();
    for (range, section) in outlined(text, title) {
        match stretches.last_mut() {
            Some((last, same)) if *same == section => last.end = range.end,
            _ => stretches.push((range, section)),
        }
    }
    stretches
}

/// The sentences of a text and the section of each.
pub(super) fn outlined(text: &str, title: usize) -> Vec<(Range<usize>, Section)> {
    let sentences = sentences(text);
    let cues = cues(text);
    let mut found = Vec::with_capacity(sentences.len());
    let mut state = OutlineState::default();
    let (mut at, mut cue) = (0, 0);
    while at < sentences.len() {
        let first = sentences[at].start;
        let line_end = text[first..].find('\n').map_or(text.len(), |length| first + length);
        let end = at + sentences[at..].iter().take_while(|range| range.start < line_end).count();
        let line: Vec<(Range<usize>, u16)> = sentences[at..end]
            .iter()
            .map(|range| {
                let begin = cue + cues[cue..].iter().take_while(|c| c.0 < range.start).count();
                cue = begin + cues[begin..].iter().take_while(|c| c.0 < range.end).count();
                (range.clone(), cues[begin..cue].iter().fold(0, |bits, c| bits | c.1))
            })
            .collect();
        if first < title {
            found.extend(line.into_iter().map(|(range, _)| (range, Section::Title)));
        } else {
            state.line(text, &line, &mut found);
        }
        at = end;
    }
    close_gaps(&mut found, &state.lawful);
    found
}

/// Makes what stands between two sentences of the law a part of it, if that is short; `lawful` are the places of such sentences.
fn close_gaps(found: &mut [(Range<usize>, Section)], lawful: &[usize]) {
    for pair in lawful.windows(2) {
        if pair[1] - pair[0] <= GAP + 1 {
            let between = found[pair[0] + 1..pair[1]].iter_mut();
            between
                .filter(|(_, section)| *section != Section::Rating)
                .for_each(|(_, section)| *section = Section::Disclaimer);
        }
    }
}

/// State of the outline between two lines.
#[derive(Default)]
struct OutlineState {
    /// The section that a heading opened, and the characters left to it.
    open: Option<(Section, usize)>,
    /// Lines in a row that said nothing of the law, and where the first of their sentences is among those found.
    lawless: usize,
    since: usize,
    /// Places of the sentences that are of the law by their own words.
    lawful: Vec<usize>,
}

impl OutlineState {
    /// Tells the sections of a line, given its sentences and their cues.
    fn line(&mut self, text: &str, line: &[(Range<usize>, u16)], found: &mut Vec<(Range<usize>, Section)>) {
        let begin = found.len();
        let Some((first, last)) = line.first().zip(line.last()) else { return };
        let all = &text[first.0.start..last.0.end];
        let opening = heading(all, true);
        match opening {
            Some((section, Stands::Alone)) => self.opens(section, all, begin),
            Some((Section::Summary, Stands::Before)) => self.opens(Section::Summary, all, begin),
            Some((_, Stands::Before)) => self.open = None,
            None if is_chapter(all) && !matches!(self.open, Some((Section::Risk | Section::Disclaimer, _))) => {
                self.open = None;
            }
            None => self.spend(all),
        }
        let base = self.open.map_or(Section::Body, |(section, _)| section);
        let mut inline = opening.map(|(section, _)| section).filter(|_| base != Section::Header);
        let alone = line.len() == 1;
        for (i, (range, bits)) in line.iter().enumerate() {
            let sentence = &text[range.clone()];
            if i > 0
                && let Some((section, _)) = heading(sentence, false)
            {
                inline = Some(section);
            }
            let here = inline.unwrap_or(base);
            let own = section_of(sentence, *bits, alone);
            if says_law(*bits) {
                self.lawful.push(found.len());
            }
            let section = match (here, own) {
                (Section::Disclaimer, _) => Section::Disclaimer,
                (Section::Risk, Some(Section::Rating)) => Section::Risk,
                (_, Some(own)) => own,
                // Beside tables stands the text of the report again.
                (Section::Header, None) if i > 0 || sentence.ends_with('。') => Section::Body,
                (here, None) => here,
            };
            found.push((range.clone(), section));
        }
        if base == Section::Header && found[begin..].iter().any(|(_, section)| *section != Section::Header) {
            self.open = None;
        }
        let ends = |section| matches!(section, Section::Forecast | Section::Rating | Section::Risk);
        if base == Section::Summary && inline.is_some_and(ends) {
            self.open = None;
        }
        if base == Section::Disclaimer {
            self.weigh_law(text, line, opening.is_some(), begin, found);
        }
    }

    /// A heading opens a section.
    fn opens(&mut self, section: Section, line: &str, sentence: usize) {
        let room = match section {
            Section::Summary => 1500,
            Section::Forecast => 1200,
            Section::Rating => 600,
            Section::Risk => 800,
            Section::Title | Section::Header | Section::Body | Section::Disclaimer => usize::MAX,
        };
        self.open = Some((section, room.max(line.len())));
        (self.lawless, self.since) = (0, sentence);
    }

    /// Takes the characters of a line from those left to the open section.
    fn spend(&mut self, line: &str) {
        if let Some((_, room)) = &mut self.open {
            match room.checked_sub(line.chars().count()) {
                Some(left) => *room = left,
                None => self.open = None,
            }
        }
    }

    /// Ends legal notes when lines say nothing of the law; those lines are Body after all.
    fn weigh_law(
        &mut self,
        text: &str,
        line: &[(Range<usize>, u16)],
        heading: bool,
        begin: usize,
        found: &mut [(Range<usize>, Section)],
    ) {
        let lawful = |(range, bits): &(Range<usize>, u16)| {
            matches!(section_of(&text[range.clone()], *bits, false), Some(Section::Disclaimer | Section::Header))
        };
        if heading || line.iter().any(lawful) {
            self.lawless = 0;
            return;
        }
        if self.lawless == 0 {
            self.since = begin;
        }
        self.lawless += 1;
        if self.lawless >= LAWLESS {
            found[self.since..].iter_mut().for_each(|(_, section)| *section = Section::Body);
            self.open = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Section::*;
    use super::*;

    /// The sentences of a report, first line the title, and their sections.
    fn sentences(text: &str) -> Vec<(&str, Section)> {
        let title = text.find('\n').unwrap_or(0);
        outlined(text, title).into_iter().map(|(range, section)| (&text[range], section)).collect()
    }

    fn sections(text: &str) -> Vec<Section> {
        sentences(text).into_iter().map(|(_, section)| section).collect()
    }

    #[test]
    fn a_report_as_houses_write_it() {
        let found = sentences(
            "远山科技点评：订单饱满\n\
             2024-03-05 类别：公司研究 机构：近水证券 研究员：王某\n\
             证券分析师：李某 执业证书编号：S0000000000001 电话：021-00000000\n\
             买入（维持）\n\
             核心观点\n\
             公司订单饱满，产能利用率回升。毛利率环比改善。\n\
             我们上调公司盈利预测，维持“买入”评级，目标价12.5元。\n\
             投资建议：考虑到公司的地位，给予“增持”评级。\n\
             公司的客户以家电企业为主。\n\
             盈利预测：预计未来三年每股收益为0.5元、0.6元和0.7元。\n\
             单位：百万元 2023A 2024E 2025E 2026E\n\
             营业收入 1200 1300 1500 1700\n\
             资料来源：公司公告\n\
             四、风险提示\n\
             1、原材料价格上涨；2、新客户拓展不及预期。\n\
             免责声明：本报告由近水证券制作。市场有风险，投资需谨慎。\n\
             评级说明\n\
             买入：未来六个月内相对沪深300指数涨幅在15%以上。\n\
             中性：介于两者之间。\n\
             请务必阅读正文之后的免责声明。",
        );
        let expected = [
            Title, Header, Header, Rating, Summary, Summary, Summary, Rating, Rating, Body, Forecast, Header, Header,
            Header, Risk, Risk, Risk, Disclaimer, Disclaimer, Disclaimer, Disclaimer, Disclaimer, Disclaimer,
        ];
        let found: Vec<Section> = found.iter().map(|(_, section)| *section).collect();
        assert_eq!(found, expected, "{found:#?}");
    }

    #[test]
    fn news_of_ratings_law_and_telephones_is_no_header_and_no_disclaimer() {
        let text = "公司公告\n公司因年报存在虚假记载被处罚，投资者可索赔。\n公司电话业务收入增长3.5%。\n公司主体信用评级维持AA+。\n净利润增长";
        assert_eq!(sections(text), [Title, Body, Body, Body, Body]);
        let text = "标题\n请务必阅读正文之后的免责条款部分\n请参阅最后一页的免责声明公司业绩符合预期。";
        assert_eq!(sections(text), [Title, Disclaimer, Body], "a note that layout joined to the text");
    }

    #[test]
    fn promises_at_the_beginning_do_not_swallow_the_report() {
        let text = "标题\n法律声明：未经书面许可，不得翻版、复制本报告。\n公司订单饱满。\n风险提示：需求下滑。\n公司扩建二期。";
        assert_eq!(sections(text), [Title, Disclaimer, Body, Risk, Body]);
        let text = "标题\n免责声明\n本报告版权归本公司所有。\n公司订单饱满。\n公司扩建二期。\n公司获得新客户。";
        assert_eq!(sections(text), [Title, Disclaimer, Disclaimer, Body, Body, Body]);
    }

    #[test]
    fn a_warning_may_open_in_mid_line_and_ends_with_it() {
        let text = "标题\n我们看好公司的渠道。风险提示：原料涨价。汇率波动。\n公司扩建二期。";
        assert_eq!(sections(text), [Title, Body, Risk, Risk, Body]);
    }

    #[test]
    fn between_two_sentences_of_law_stands_law() {
        let text = "标题\n本报告仅供参考，不构成任何建议。\n我公司亦可能与之往来。\n观点可随时更改。\n本公司概不负责。\n公司扩建二期。";
        assert_eq!(sections(text), [Title, Disclaimer, Disclaimer, Disclaimer, Disclaimer, Body]);
    }

    #[test]
    fn a_summary_ends_at_a_chapter_and_after_its_room() {
        let text = "标题\n投资要点：公司扩产。\n客户增加。\n一、公司概况与沿革\n公司成立多年。";
        assert_eq!(sections(text), [Title, Summary, Summary, Body, Body]);
        let long = format!("标题\n核心观点\n{}。\n{}。\n尾声。", "长".repeat(900), "长".repeat(900));
        assert_eq!(sections(&long), [Title, Summary, Summary, Body, Body]);
    }

    #[test]
    fn texts_without_sentences_and_of_one() {
        assert_eq!(outline("", 0), []);
        assert_eq!(outline("\n", 0), []);
        let giant = "长".repeat(1 << 20);
        assert_eq!(outline(&giant, 0), [(0..giant.len(), Body)]);
    }
}
