//! Turns typed text into a question, and a question and its answer into a command and a table.

use super::bench::{Answer, ModelCard, PlaneMethod, Question, Surprised, Tool};
use super::words;
use crate::page::Table;
use inkstone_base::language::{Language, Word};
use inkstone_base::shell::quoted;

/// Neighbours and continuations that are asked for.
const MANY: usize = 40;
/// Most frequent words that the plane shows unless told otherwise.
pub(super) const FREQUENT: usize = 150;
/// Words of the plane at the most.
const MOST: usize = 2000;
/// Characters of a text at the most.
pub(super) const LONGEST: usize = 4000;

/// The question that a text means to a tool; none if something is still to be typed, an error if
/// the text is no question.
pub(super) fn question(tool: Tool, text: &str, plane: PlaneMethod) -> Result<Option<Question>, Word> {
    let text = text.trim();
    if text.is_empty() && !matches!(tool, Tool::Plane | Tool::Following) {
        return Ok(None);
    }
    Ok(Some(match tool {
        Tool::Nearest => Question::Nearest(text.to_owned(), MANY),
        Tool::Analogy => {
            let mut words = text.split([' ', '\u{3000}', ',', '，', '、']).filter(|word| !word.is_empty());
            let three = [words.next(), words.next(), words.next()];
            let [Some(a), Some(b), Some(c)] = three else { return Err(words::THREE_WORDS) };
            if words.next().is_some() {
                return Err(words::THREE_WORDS);
            }
            Question::Analogy([a, b, c].map(str::to_owned), MANY)
        }
        Tool::Plane => match text.parse::<usize>() {
            Ok(count) => Question::MostFrequent(count.clamp(4, MOST), plane),
            Err(_) if text.is_empty() => Question::MostFrequent(FREQUENT, plane),
            Err(_) => Question::Around(text.to_owned(), MANY, plane),
        },
        Tool::Following => Question::Following(text.to_owned(), MANY),
        Tool::Surprise => Question::Surprise(text.to_owned()),
    }))
}

/// The command that asks the same without a screen.
pub(super) fn command(card: &ModelCard, question: &Question, answer: Option<&Answer>) -> String {
    let model = quoted(&card.path.display().to_string());
    let list = |words: &[String]| quoted(&words.join(","));
    let clusters = match answer {
        Some(Answer::Plane(plane)) => plane.clusters.iter().copied().max().unwrap_or_default(),
        _ => 0,
    };
    let clusters = if clusters > 0 { format!(" --clusters {clusters}") } else { String::new() };
    let method = |by: PlaneMethod| if by == PlaneMethod::Tsne { " --method tsne" } else { "" };
    let text = if card.says_text { " --format text" } else { "" };
    match question {
        Question::Nearest(word, k) => format!("inkstone nearest --model {model} --words {} -k {k}", quoted(word)),
        Question::Analogy([a, b, c], k) => {
            let plus = list(&[b.clone(), c.clone()]);
            format!("inkstone nearest --model {model} --words {plus} --minus {} -k {k}", quoted(a))
        }
        Question::MostFrequent(n, by) => {
            format!("inkstone projection --model {model}{}{clusters} --top {n} --output projection.svg", method(*by))
        }
        Question::Around(word, _, by) => {
            let shown = match answer {
                Some(Answer::Plane(plane)) => plane.points.iter().map(|(word, _)| word.clone()).collect(),
                _ => vec![word.clone()],
            };
            let by = method(*by);
            format!(
                "inkstone projection --model {model}{by}{clusters} --words {} --output projection.svg",
                list(&shown)
            )
        }
        Question::Following(after, k) => {
            format!("inkstone sample --model {model}{text} --after {} --top-k {k}", quoted(after))
        }
        Question::Surprise(sentence) => {
            format!("inkstone explain --model {model}{text} --text {} --top 0", quoted(sentence))
        }
    }
}

pub(super) fn shell_line(arguments: &[String]) -> String {
    arguments.iter().map(|argument| quoted(argument)).collect::<Vec<_>>().join(" ")
}

pub(super) fn table(answer: &Answer, language: Language) -> Table {
    let table = |header: &[Word], rows| Table::new(language, header, rows);
    match answer {
        Answer::Near { words: near, .. } => {
            let rows = near.iter().map(|(word, cosine)| vec![word.clone(), cosine.to_string()]);
            table(&[words::WORD, words::COSINE], rows.collect())
        }
        Answer::Unknown(_, alike) => table(&[words::ALIKE], alike.iter().map(|word| vec![word.clone()]).collect()),
        Answer::Plane(plane) => {
            let row = |(word, [x, y]): &(String, [f64; 2])| vec![word.clone(), x.to_string(), y.to_string()];
            let header = [words::WORD, Word("x", "x"), Word("y", "y")];
            table(&header, plane.points.iter().map(row).collect())
        }
        Answer::Following { next, .. } => {
            let rows = next.iter().map(|(word, p)| vec![word.clone(), p.to_string()]);
            table(&[words::WORD, Word("p", "p")], rows.collect())
        }
        Answer::Surprise(tokens) => {
            let row = |token: &Surprised| {
                vec![token.token.clone(), token.bits.to_string(), u8::from(token.unknown).to_string()]
            };
            table(&[words::WORD, words::BITS, words::OUTSIDE], tokens.iter().map(row).collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_typed_becomes_the_question_it_means() {
        assert_eq!(question(Tool::Nearest, "  ", PlaneMethod::Pca), Ok(None));
        assert_eq!(
            question(Tool::Nearest, " 回购 ", PlaneMethod::Pca),
            Ok(Some(Question::Nearest("回购".into(), MANY)))
        );
        let words = ["涨", "大涨", "跌"].map(str::to_owned);
        assert_eq!(question(Tool::Analogy, "涨　大涨，跌", PlaneMethod::Pca), Ok(Some(Question::Analogy(words, MANY))));
        for wrong in ["涨 大涨", "涨 大涨 跌 大跌"] {
            assert_eq!(question(Tool::Analogy, wrong, PlaneMethod::Pca), Err(words::THREE_WORDS));
        }
        assert_eq!(
            question(Tool::Plane, "", PlaneMethod::Pca),
            Ok(Some(Question::MostFrequent(FREQUENT, PlaneMethod::Pca)))
        );
        assert_eq!(question(Tool::Plane, "1", PlaneMethod::Pca), Ok(Some(Question::MostFrequent(4, PlaneMethod::Pca))));
        assert_eq!(
            question(Tool::Plane, "回购", PlaneMethod::Pca),
            Ok(Some(Question::Around("回购".into(), MANY, PlaneMethod::Pca)))
        );
        assert_eq!(question(Tool::Following, "", PlaneMethod::Pca), Ok(Some(Question::Following(String::new(), MANY))));
    }

    #[test]
    fn a_command_survives_a_shell() {
        let card = ModelCard { path: "models/a b.model".into(), ..ModelCard::default() };
        let asked = Question::Surprise("it's; rm -rf".into());
        assert_eq!(
            command(&card, &asked, None),
            r"inkstone explain --model 'models/a b.model' --text 'it'\''s; rm -rf' --top 0"
        );
        let asked = Question::Analogy(["涨", "大涨", "跌"].map(str::to_owned), 40);
        let card = ModelCard { path: "models/w.model".into(), ..ModelCard::default() };
        let line = "inkstone nearest --model models/w.model --words 大涨,跌 --minus 涨 -k 40";
        assert_eq!(command(&card, &asked, None), line);
    }
}
