//! Normal form of sentences: boilerplate is compared in it.
//!
//! - Letters, digits and Chinese characters count; marks and white space do not, nor does width or case.
//! - A figure is masked, a date as one, so that neither sets apart. But a sentence with more than two figures is never boilerplate:
//!   its content is the figures (每股收益分别为...).
//! - The names of the document's own publisher and authors are masked. Names of companies are not: a sentence on another company
//!   says something else.
//! - Beyond 64 characters sentences are the same when their last 32 are. Legal notes name people near their beginning, and no two
//!   findings end alike for so long.
//!
//! Forms are compared by 64 bits of BLAKE3: among 100 million sentences two that differ have the same with probability 0.0003.

use inkstone_base::data::Document;

/// Figures of the most that a sentence of boilerplate has.
const MOST_FIGURES: usize = 2;

/// Characters beyond which only the last are compared, and how many these are.
const LONG: usize = 64;
const TAIL: usize = 32;

/// Stands for a figure, and for a name.
const FIGURE: char = '0';
const NAME: char = '\u{25cc}';

/// The names that a document's publisher and authors go by.
pub(super) fn names_of(document: &Document) -> Vec<&str> {
    let authors = document.author.iter().flat_map(|authors| {
        authors.split(|c: char| c.is_whitespace() || matches!(c, '、' | ',' | '，' | ';' | '；' | '/' | '|'))
    });
    let mut names: Vec<&str> = document.org.iter().map(String::as_str).chain(authors).collect();
    names.retain(|name| name.chars().nth(1).is_some());
    names
}

/// The normal form of sentences, made one after the other.
#[derive(Default)]
pub(super) struct Former {
    form: String,
}

impl Former {
    /// The hash of a sentence's form; none for a sentence that cannot be boilerplate: too short, or said in figures. `names` are masked.
    pub(super) fn hash(&mut self, sentence: &str, names: &[&str], min_chars: usize) -> Option<u64> {
        let (letters, figures) = self.make(sentence, names);
        if letters < min_chars || figures > MOST_FIGURES {
            return None;
        }
        let characters = self.form.chars().count();
        let tail =
            if characters >= LONG { self.form.char_indices().nth_back(TAIL - 1).map_or(0, |(i, _)| i) } else { 0 };
        // Long forms are apart from short ones that are like their ends.
        Some(hash_of(&self.form.as_bytes()[tail..]) ^ (u64::from(tail > 0) << 1))
    }

    /// The hash of any text's form, no name masked.
    pub(super) fn any(&mut self, text: &str) -> u64 {
        self.make(text, &[]);
        hash_of(self.form.as_bytes())
    }

    /// Makes the form; gives its letters, masks apart, and its figures.
    fn make(&mut self, sentence: &str, names: &[&str]) -> (usize, usize) {
        self.form.clear();
        let (mut letters, mut figures) = (0, 0);
        let mut in_figure = false;
        let mut rest = sentence.chars();
        loop {
            let left = rest.as_str();
            let Some(c) = rest.next() else { break };
            let c = narrow(c);
            if c.is_ascii_digit() {
                if !in_figure {
                    figures += 1;
                    self.form.push(FIGURE);
                }
                in_figure = true;
            } else if in_figure && joins(c, rest.as_str()) {
                continue;
            } else if in_figure && c == '日' {
                // The end of a date that others write with dashes.
                in_figure = false;
            } else {
                in_figure = false;
                if let Some(name) = names.iter().find(|name| left.starts_with(**name)) {
                    self.form.push(NAME);
                    rest = left[name.len()..].chars();
                } else if is_letter(c) {
                    self.form.push(c.to_ascii_lowercase());
                    letters += 1;
                }
            }
        }
        (letters, figures)
    }
}

fn hash_of(form: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&blake3::hash(form).as_bytes()[..8]);
    u64::from_le_bytes(bytes)
}

/// True if a character counts: a letter, a digit or a Chinese character. Most are decided without the tables of Unicode.
#[inline]
pub(super) fn is_letter(c: char) -> bool {
    match c {
        '\u{4E00}'..='\u{9FFF}' => true,
        '\0'..='\u{7F}' => c.is_ascii_alphanumeric(),
        '。' | '，' | '、' | '：' | '；' | '（' | '）' | '“' | '”' => false,
        _ => c.is_alphanumeric(),
    }
}

/// True if a mark goes on with the figure before it: a point, a comma, a dash, or the marks of a date, before another digit.
fn joins(c: char, rest: &str) -> bool {
    let mark = matches!(c, '.' | ',' | ':' | '/' | '-' | '~' | '年' | '月');
    mark && rest.chars().next().is_some_and(|next| narrow(next).is_ascii_digit())
}

fn narrow(c: char) -> char {
    if ('！'..='～').contains(&c) { char::from_u32(c as u32 - 0xFEE0).unwrap_or(c) } else { c }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(a: &str, b: &str) -> bool {
        let hash = |text| Former::default().hash(text, &["远山证券", "王某"], 6);
        hash(a).is_some() && hash(a) == hash(b)
    }

    #[test]
    fn width_marks_figures_and_own_names_do_not_set_apart() {
        assert!(same("本报告于2024年1月2日发布，版权所有。", "本报告于２０２３－１２－３１发布 版权所有"));
        assert!(same("请务必阅读正文之后的声明3/12", "请务必阅读正文之后的声明（4/9）"));
        assert!(same("分析师王某独立出具本报告", "分析师远山证券独立出具本报告"));
        assert!(!same("公司订单饱满，产能紧张。", "公司订单饱满，产能宽松。"));
        assert!(!same("远山科技订单饱满", "近水科技订单饱满"), "names of companies are compared");
    }

    #[test]
    fn short_sentences_and_sentences_of_figures_have_no_form() {
        let mut former = Former::default();
        assert_eq!(former.hash("特此公告。", &[], 6), None);
        assert_eq!(former.hash("每股收益为1.2元、1.5元和1.8元，符合预期", &[], 6), None);
        assert!(former.hash("截至2024年6月30日的总股本为5.2亿股", &[], 6).is_some());
    }

    #[test]
    fn long_sentences_are_the_same_when_they_end_alike() {
        let end = "以勤勉的职业态度独立客观地出具本报告未曾因也将不会因报告中的具体建议而直接或间接收到任何形式的补偿";
        let (a, b) = (
            format!("分析师承诺：负责本报告的分析师甲乙{end}。"),
            format!("分析师承诺：负责本报告的分析师丙丁戊{end}。"),
        );
        assert!(same(&a, &b));
        let tail: String = end.chars().skip(end.chars().count() - 32).collect();
        assert!(!same(&a, &tail), "a short sentence is not the end of a long one");
    }

    #[test]
    fn names_are_told_apart() {
        let document =
            Document {
                org: Some("远山证券".into()), author: Some("张三、李四;王 赵六".into()), ..Document::default()
            };
        assert_eq!(names_of(&document), ["远山证券", "张三", "李四", "赵六"]);
    }
}
