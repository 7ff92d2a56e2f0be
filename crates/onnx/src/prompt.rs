//! Prompts: text with fields for the parts of a document.

use anyhow::{Context, Result};

use inkstone_base::language::Word;
use inkstone_base::{bail, ensure};

/// A part of a prompt: fixed text, or a field of the document.
#[derive(Clone, Debug, PartialEq, Eq)]
enum PromptPart {
    Fixed(String),
    Title,
    Body,
    Whole,
}

/// A document as a prompt takes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PromptFields<'d> {
    pub title: &'d str,
    /// The text without its title.
    pub body: &'d str,
    /// Title and text, as a model reads them without a prompt.
    pub whole: &'d str,
}

/// A prompt with the fields `{title}`, `{body}` and `{text}` (title and body); `{{` and `}}` are braces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptTemplate(Vec<PromptPart>);

impl PromptTemplate {
    /// Reads a prompt; line breaks at its end are left out.
    pub fn parse(text: &str) -> Result<PromptTemplate> {
        let text = text.trim_end_matches(['\n', '\r']);
        let (mut parts, mut fixed) = (Vec::new(), String::new());
        let mut rest = text;
        while let Some(at) = rest.find(['{', '}']) {
            fixed.push_str(&rest[..at]);
            let brace = &rest[at..at + 1];
            rest = &rest[at + 1..];
            if let Some(behind) = rest.strip_prefix(brace) {
                fixed.push_str(brace);
                rest = behind;
                continue;
            }
            ensure!(
                brace == "{",
                "提示词中的 }} 没有对应的字段；要写花括号请写 }}}}",
                "a prompt has a }} that closes no field; write }}}} for a brace"
            );
            let (name, behind) = rest.split_once('}').context(Word(
                "提示词中的 { 没有对应的 }；要写花括号请写 {{",
                "a prompt has a { without its }; write {{ for a brace",
            ))?;
            let part = match name {
                "title" => PromptPart::Title,
                "body" => PromptPart::Body,
                "text" => PromptPart::Whole,
                _ => bail!(
                    "提示词有字段 {{{name}}}，而文档有 {{title}}、{{body}} 和 {{text}}（标题与正文）；要写花括号请写 {{{{",
                    "a prompt has the field {{{name}}}, and documents have {{title}}, {{body}} and {{text}} (title and body); write {{{{ for a brace"
                ),
            };
            parts.extend([PromptPart::Fixed(std::mem::take(&mut fixed)), part]);
            rest = behind;
        }
        fixed.push_str(rest);
        parts.push(PromptPart::Fixed(fixed));
        ensure!(
            parts.iter().any(|part| !matches!(part, PromptPart::Fixed(_))),
            "提示词没有字段，对所有文档都一样；请在文档的位置写 {{text}}",
            "a prompt has no field, so it would be the same for all documents; put {{text}} where the document stands"
        );
        Ok(PromptTemplate(parts))
    }

    /// The document alone.
    pub(crate) fn whole() -> PromptTemplate {
        PromptTemplate(vec![PromptPart::Whole])
    }

    /// The prompt of a document; `cut` shortens its body or its whole text, given all text beside it.
    pub(crate) fn fill(&self, fields: PromptFields<'_>, cut: impl Fn(&str, &str) -> Result<String>) -> Result<String> {
        let with = |body: &str, whole: &str| {
            let part = |part: &PromptPart| match part {
                PromptPart::Fixed(text) => text.clone(),
                PromptPart::Title => fields.title.to_owned(),
                PromptPart::Body => body.to_owned(),
                PromptPart::Whole => whole.to_owned(),
            };
            self.0.iter().map(part).collect::<String>()
        };
        let beside = with("", "");
        Ok(with(&cut(fields.body, &beside)?, &cut(fields.whole, &beside)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_stand_where_they_are_named() {
        let template = PromptTemplate::parse("标题：{title}\n{{正文}}：{body}\n利好还是利空？\n").unwrap();
        let fields = PromptFields {
            title: "公告", body: "公司拟回购股份。", whole: "公告\n公司拟回购股份。"
        };
        let cut = |text: &str, beside: &str| {
            assert_eq!(beside, "标题：公告\n{正文}：\n利好还是利空？");
            Ok(text.chars().take(4).collect())
        };
        assert_eq!(template.fill(fields, cut).unwrap(), "标题：公告\n{正文}：公司拟回\n利好还是利空？");
    }

    #[test]
    fn a_prompt_that_cannot_be_filled_is_refused() {
        for (text, words) in [
            ("{author}：{text}", "{author}"),
            ("没有", "no field"),
            ("{text", "without its }"),
            ("text}", "closes no field"),
        ] {
            let error = format!("{:#}", PromptTemplate::parse(text).unwrap_err());
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
