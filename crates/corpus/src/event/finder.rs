//! Finds the events of one document.

use std::cmp::Reverse;
use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use chrono::{NaiveDate, NaiveDateTime};

use super::EventRule;
use crate::clean::CleanDocument;
use crate::link::{Link, TextField, codes_of, links_of_row};
use inkstone_base::code::Code;
use inkstone_base::{ensure, message};
use inkstone_market::EventArguments;
use inkstone_text::labeller::{FoundName, Labeller};
use inkstone_text::{Quantity, QuantityKind, dates, quantities, sentences};

/// Characters before a trigger in which a negation denies it.
const REACH_OF_NEGATION: usize = 8;
/// Signs and words that join names: 甲公司、乙公司和丙公司.
const JOINING: [&str; 5] = ["、", "和", "与", "及", "以及"];

/// An event in a document. Ranges are bytes of its field.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundEvent {
    /// Number of its rule.
    pub rule: usize,
    pub code: Code,
    pub field: TextField,
    pub sentence: Range<usize>,
    /// From the first part of the trigger to its last.
    pub trigger: Range<usize>,
    /// When the document was published, or the labeller fitted that found the trigger, if that is later.
    pub known_at: NaiveDateTime,
    pub arguments: EventArguments,
}

/// The events of a document, and sentences with a trigger that were not taken.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FoundInDocument {
    pub events: Vec<FoundEvent>,
    /// Sentences with a trigger that name no security, or none for sure.
    pub without_security: u64,
    /// Sentences whose trigger is denied.
    pub denied: u64,
}

/// Finds events by rules.
#[derive(Default)]
pub struct EventFinder {
    rules: Vec<PreparedRule>,
    labellers: Vec<(PathBuf, Labeller)>,
}

struct PreparedRule {
    rule: EventRule,
    /// The parts of each trigger.
    triggers: Vec<Vec<String>>,
    /// Number of its labeller.
    labeller: Option<usize>,
}

/// A trigger in a sentence, by its bytes, and when the labeller was fitted that found it; none if it is a word of the rule.
struct Trigger {
    place: Range<usize>,
    fitted_until: Option<NaiveDateTime>,
}

impl EventFinder {
    /// A finder of these kinds of events; paths are relative to `base`.
    pub fn new(rules: &[EventRule], base: &Path) -> Result<EventFinder> {
        let mut finder = EventFinder::default();
        for rule in rules {
            let labeller =
                finder.labeller_of(rule, base).with_context(|| message!("事件 {:?}", "event {:?}", rule.name))?;
            let parts = |trigger: &String| trigger.split('*').map(|part| part.trim().to_owned()).collect();
            let triggers = rule.triggers.iter().map(parts).collect();
            finder.rules.push(PreparedRule { rule: rule.clone(), triggers, labeller });
        }
        Ok(finder)
    }

    /// The number of a rule's labeller, which is read if no rule before has it.
    fn labeller_of(&mut self, rule: &EventRule, base: &Path) -> Result<Option<usize>> {
        let Some(path) = &rule.labeller else { return Ok(None) };
        let known = self.labellers.iter().position(|(known, _)| known == path);
        let number = match known {
            Some(number) => number,
            None => {
                self.labellers.push((path.clone(), Labeller::open(&base.join(path))?));
                self.labellers.len() - 1
            }
        };
        let (path, labeller) = (path.display(), &self.labellers[number].1);
        ensure!(
            !labeller.cuts_words(),
            "标注器 {path} 切词，不找名称：[[event]] labeller 须为 inkstone train crf --learn entities 的模型",
            "the labeller {path} cuts words and finds no names: [[event]] labeller takes a model of inkstone train crf --learn entities"
        );
        ensure!(
            labeller.kinds().contains(&rule.name),
            "标注器 {path} 不标出 {:?}；它标出的有 {}。事件的名称须是 inkstone train crf --learn entities 学到的一类",
            "the labeller {path} marks no {:?}; it marks {}. The name of the event must be a kind that inkstone train crf --learn entities has learned",
            rule.name,
            labeller.kinds().join(", ")
        );
        ensure!(
            labeller.fitted_until().is_some(),
            "标注器 {path} 没有说明训练文本截至何时，它找到的事件会显得过早已知：请重新训练，给出带时间的行，或 --fitted-until",
            "the labeller {path} does not say how far the text reaches that it was trained on, and its events would be known before their time: train it again on lines with times, or with --fitted-until"
        );
        Ok(Some(number))
    }

    /// The name of a rule.
    pub fn name(&self, rule: usize) -> &str {
        &self.rules[rule].rule.name
    }

    /// The events of the document in this row of a part with these links.
    pub fn find(&self, document: &CleanDocument, links: &[Link], row: u32) -> FoundInDocument {
        let mut found = FoundInDocument::default();
        let own = &document.document;
        let fields = [(TextField::Title, &own.title), (TextField::Body, &own.body)];
        let may_have = |(_, rule): &(usize, &PreparedRule)| {
            let kinds = &rule.rule.kinds;
            let stands = |part: &String| fields.iter().any(|(_, text)| text.contains(part.as_str()));
            (kinds.is_empty() || kinds.contains(&own.kind))
                && (rule.labeller.is_some() || rule.triggers.iter().any(|parts| parts.iter().all(stands)))
        };
        let rules: Vec<(usize, &PreparedRule)> = self.rules.iter().enumerate().filter(may_have).collect();
        if rules.is_empty() {
            return found;
        }
        let links = links_of_row(links, row);
        let codes = codes_of(links, row);
        for (field, text) in fields {
            for sentence in sentences(text).into_iter().flat_map(|sentence| parts_of(text, sentence)) {
                let words = &text[sentence.clone()];
                let mut names: Vec<Option<Vec<FoundName<'_>>>> = vec![None; self.labellers.len()];
                for &(number, rule) in rules.iter().filter(|(_, rule)| !rule.refuses(words)) {
                    let trigger = rule.trigger(words).or_else(|| {
                        // To label a text takes long, and one that names no security has nobody's events.
                        let number = rule.labeller.filter(|_| !codes.is_empty())?;
                        let (_, labeller) = &self.labellers[number];
                        let names = names[number].get_or_insert_with(|| labeller.names(words));
                        let place = names.iter().find(|name| name.kind == rule.rule.name)?.range.clone();
                        Some(Trigger { place, fitted_until: labeller.fitted_until() })
                    });
                    let Some(Trigger { place: trigger, fitted_until }) = trigger else { continue };
                    if rule.denies(words, &trigger) {
                        found.denied += 1;
                        continue;
                    }
                    let mut subjects = subjects(text, &sentence, links, field);
                    if let ([], [only]) = (&subjects[..], &codes[..]) {
                        subjects.push(only.clone());
                    }
                    if subjects.is_empty() {
                        found.without_security += 1;
                        continue;
                    }
                    let arguments = rule.arguments(words, &trigger, own.published_at.date());
                    let known_at = fitted_until.map_or(own.published_at, |fitted| fitted.max(own.published_at));
                    let trigger = sentence.start + trigger.start..sentence.start + trigger.end;
                    for code in subjects {
                        let (sentence, trigger) = (sentence.clone(), trigger.clone());
                        found.add(FoundEvent { rule: number, code, field, sentence, trigger, known_at, arguments });
                    }
                }
            }
        }
        found
    }
}

impl FoundInDocument {
    /// Of several events of a kind and a security that counts which is known first, and of these the one with most arguments.
    fn add(&mut self, event: FoundEvent) {
        let rank = |event: &FoundEvent| (Reverse(event.known_at), event.arguments.count());
        match self.events.iter_mut().find(|known| known.rule == event.rule && known.code == event.code) {
            Some(known) if rank(known) < rank(&event) => *known = event,
            Some(_) => {}
            None => self.events.push(event),
        }
    }
}

impl PreparedRule {
    /// The first trigger of a sentence that is a word of the rule.
    fn trigger(&self, sentence: &str) -> Option<Trigger> {
        let place = |parts: &Vec<String>| {
            let mut place: Option<Range<usize>> = None;
            for part in parts {
                let from = place.as_ref().map_or(0, |place| place.end);
                let at = from + sentence[from..].find(part.as_str())?;
                place = Some(place.map_or(at, |place| place.start)..at + part.len());
            }
            place
        };
        let place = self.triggers.iter().filter_map(place).min_by_key(|place| (place.start, place.end))?;
        Some(Trigger { place, fitted_until: None })
    }

    /// True if a word stands in the sentence that may not.
    fn refuses(&self, sentence: &str) -> bool {
        self.rule.without.iter().any(|word| sentence.contains(word.as_str()))
    }

    /// True if a negation stands before the trigger, or between its parts.
    fn denies(&self, sentence: &str, trigger: &Range<usize>) -> bool {
        let clause = clause_of(sentence, trigger.start).start;
        let before = &sentence[clause..trigger.start];
        let from = before.char_indices().rev().nth(REACH_OF_NEGATION - 1).map_or(0, |(at, _)| at);
        let reach = &sentence[clause + from..trigger.end];
        // A trigger may have such a word in it: 终止收购.
        let inside = &sentence[trigger.clone()];
        let own = |word: &str| self.triggers.iter().flatten().any(|part| part.contains(word) && inside.contains(part));
        self.rule.negations.iter().any(|word| reach.contains(word.as_str()) && !own(word))
    }

    fn arguments(&self, sentence: &str, trigger: &Range<usize>, known: NaiveDate) -> EventArguments {
        let clause = clause_of(sentence, trigger.start).start..clause_of(sentence, trigger.end).end;
        // Clause of the trigger, then behind it, then before it; of each the nearest.
        let distance = |range: &Range<usize>| {
            let gap = range.start.saturating_sub(trigger.end).max(trigger.start.saturating_sub(range.end));
            let is_inside = clause.start <= range.start && range.start < clause.end;
            (!is_inside, range.start < trigger.start, gap)
        };
        let found = quantities(sentence);
        let nearest = |kind: QuantityKind| {
            let same = found.iter().filter(|quantity| quantity.kind == kind);
            same.min_by_key(|quantity| distance(&quantity.range))
                .map(|quantity: &Quantity| self.rule.range.value_in(quantity))
        };
        let date = dates(sentence, known).into_iter().min_by_key(|(range, _)| distance(range));
        EventArguments {
            amount: nearest(QuantityKind::Amount),
            price: nearest(QuantityKind::Price),
            percent: nearest(QuantityKind::Percent),
            shares: nearest(QuantityKind::Shares),
            date: date.map(|(_, date)| date),
        }
    }
}

/// A sentence cut at `；`.
fn parts_of(text: &str, sentence: Range<usize>) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    let mut start = sentence.start;
    for (at, mark) in text[sentence.clone()].match_indices(['；', ';']) {
        parts.push(start..sentence.start + at);
        start = sentence.start + at + mark.len();
    }
    parts.push(start..sentence.end);
    parts.retain(|part| !part.is_empty());
    parts
}

/// The clause between two commas in which a byte of a sentence lies. The comma of a range (不低于1亿元，不超过2亿元) is one, too.
fn clause_of(sentence: &str, at: usize) -> Range<usize> {
    let comma = ['，', ',', '：', '】'];
    let is_in_number = |place: usize| {
        let digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
        sentence[place..].starts_with(',')
            && digit(sentence[..place].chars().next_back())
            && digit(sentence[place + 1..].chars().next())
    };
    let start = sentence[..at].rmatch_indices(comma).find(|(place, _)| !is_in_number(*place));
    let end = sentence[at..].match_indices(comma).find(|(place, _)| !is_in_number(at + place));
    start.map_or(0, |(place, mark)| place + mark.len())..end.map_or(sentence.len(), |(place, _)| at + place)
}

/// The first security that a sentence surely names, and those that are joined to it.
fn subjects(text: &str, sentence: &Range<usize>, links: &[Link], field: TextField) -> Vec<Code> {
    let inside = |link: &&Link| {
        let place = link.start as usize..link.end as usize;
        !link.ambiguous
            && link.field == field
            && place.start < place.end
            && sentence.start <= place.start
            && place.end <= sentence.end
    };
    let mut names: Vec<&Link> = links.iter().filter(inside).collect();
    names.sort_by_key(|link| (link.start, link.end));
    let mut codes: Vec<Code> = Vec::new();
    let mut end = 0;
    for link in names {
        let is_same = codes.last().is_some_and(|code| *code == link.code);
        let between = || text[end..(link.start as usize).max(end)].trim_matches(|c: char| "（）() ".contains(c));
        if codes.is_empty() || is_same || JOINING.contains(&between()) {
            if !codes.contains(&link.code) {
                codes.push(link.code.clone());
            }
            end = end.max(link.end as usize);
        } else {
            break;
        }
    }
    codes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::Via;
    use inkstone_base::data::{Document, Key, Kind};

    const NAMES: [(&str, &str); 3] = [("远山科技", "600001.SH"), ("岚石股份", "600002.SH"), ("霁川电子", "000005.SZ")];

    fn rule(name: &str, triggers: &[&str], without: &[&str]) -> EventRule {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        EventRule { name: name.into(), triggers: words(triggers), without: words(without), ..EventRule::default() }
    }

    fn rules() -> Vec<EventRule> {
        vec![rule("回购", &["拟*回购", "回购方案"], &["逆回购", "注销"]), rule("减持", &["减持"], &[])]
    }

    fn document(title: &str, body: &str) -> (CleanDocument, Vec<Link>) {
        let document = Document {
            doc_id: "news/1".into(),
            title: title.into(),
            body: body.into(),
            kind: Kind::News,
            published_at: "2024-03-04T20:00:00".parse().unwrap(),
            ..Document::default()
        };
        let mut links = Vec::new();
        for (field, text) in [(TextField::Title, title), (TextField::Body, body)] {
            for (name, code) in NAMES {
                links.extend(text.match_indices(name).map(|(at, _)| Link {
                    row: 0,
                    code: Code::canonical(code),
                    field,
                    start: at as u32,
                    end: (at + name.len()) as u32,
                    via: Via::Name,
                    ambiguous: false,
                }));
            }
        }
        let text = Key::of(body.as_bytes());
        (CleanDocument { document, text, first_mention: "news/1".into(), similarity: 0.0 }, links)
    }

    fn found(title: &str, body: &str) -> FoundInDocument {
        let (document, links) = document(title, body);
        EventFinder::new(&rules(), Path::new("")).unwrap().find(&document, &links, 0)
    }

    fn shown(title: &str, body: &str) -> Vec<String> {
        let rules = rules();
        let show = |event: FoundEvent| {
            let EventArguments { amount, price, percent, shares, date } = event.arguments;
            let number = |mark: &str, number: Option<f64>| number.map(|number| format!(" {mark}{number}"));
            let parts = [number("¥", amount), number("¥/", price), number("%", percent), number("#", shares)];
            let date = date.map(|date| format!(" {date}"));
            let parts: String = parts.into_iter().chain([date]).flatten().collect();
            format!("{} {}{parts}", rules[event.rule].name, event.code)
        };
        found(title, body).events.into_iter().map(show).collect()
    }

    #[test]
    fn events_have_their_security_and_their_arguments() {
        let cases: [(&str, &[&str]); 10] = [
            (
                "远山科技公告，拟以自有资金回购公司股份，回购金额不低于1亿元且不超过3亿元，回购价格不超过20元/股。",
                &["回购 600001.SH ¥200000000 ¥/20"],
            ),
            ("远山科技去年营收9亿元，拟回购股份，金额约2亿元。", &["回购 600001.SH ¥200000000"]),
            (
                "远山科技拟3000万元-5000万元回购股份；岚石股份股东减持128,212,200股，占总股本的3%。",
                &["回购 600001.SH ¥40000000", "减持 600002.SH %0.03 #128212200"],
            ),
            ("岚石股份、霁川电子和远山科技披露回购方案。", &["回购 600002.SH", "回购 000005.SZ", "回购 600001.SH"]),
            ("远山科技公告，股东岚石股份于3月1日至3月2日减持1%股份。", &["减持 600001.SH %0.01 2024-03-02"]),
            ("远山科技发布年报。公司拟回购1亿元股份。", &["回购 600001.SH ¥100000000"]),
            ("远山科技公告，公司并未计划减持，也不再拟回购。", &[]),
            ("远山科技：股东岚石股份未实施减持计划。", &[]),
            ("远山科技拟回购注销股份1亿元。", &[]),
            ("央行拟开展逆回购操作。", &[]),
        ];
        for (body, expected) in cases {
            assert_eq!(shown("", body), expected, "{body}");
        }
    }

    #[test]
    fn a_document_has_an_event_once_with_its_place() {
        let body = "【远山科技：拟回购股份】远山科技4日公告。公司拟回购2亿元。公司拟回购3亿元。";
        assert_eq!(shown("远山科技拟回购", body), ["回购 600001.SH ¥200000000"]);
        let event = &found("远山科技拟回购", body).events[0];
        assert_eq!(event.field, TextField::Body);
        assert_eq!((&body[event.sentence.clone()], &body[event.trigger.clone()]), ("公司拟回购2亿元。", "拟回购"));
        // Two securities, and a sentence that names none.
        let without_security = found("", "远山科技与岚石股份签约。公司拟回购1亿元。");
        assert_eq!((without_security.events.len(), without_security.without_security), (0, 1));
        assert_eq!(found("", "远山科技公告，公司没有减持。").denied, 1);
    }

    #[test]
    fn a_range_has_the_end_that_is_asked_for_and_kinds_are_kept_to() {
        let (document, links) = document("", "远山科技拟以1亿元-3亿元回购股份。");
        let with = |change: fn(&mut EventRule)| {
            let mut rule = rules().remove(0);
            change(&mut rule);
            EventFinder::new(&[rule], Path::new("")).unwrap().find(&document, &links, 0).events
        };
        use super::super::RangeEnd;
        assert_eq!(with(|rule| rule.range = RangeEnd::Low)[0].arguments.amount, Some(1e8));
        assert_eq!(with(|rule| rule.range = RangeEnd::High)[0].arguments.amount, Some(3e8));
        assert!(with(|rule| rule.kinds = vec![Kind::Report]).is_empty());
        assert_eq!(with(|rule| rule.kinds = vec![Kind::News]).len(), 1);
    }

    #[test]
    fn a_rule_that_finds_nothing_is_refused() {
        let error = |rule: EventRule| format!("{:#}", rule.check().unwrap_err());
        assert!(error(rule("回购", &[], &[])).contains("triggers is missing"));
        assert!(error(rule("回购", &["拟*"], &[])).contains("triggers has \"拟*\", a part of which is empty"));
        assert!(error(rule("回购", &["回购"], &[" "])).contains("without has \" \""));
        rule("回购", &["拟*回购"], &["注销"]).check().unwrap();
    }
}
