//! The table of commands as a page of documentation.

use super::COMMANDS;
use super::KeyPress;
use crate::page::Page;

use inkstone_base::language::{Language, Word};

const TITLE: Word = Word("# 按键", "# Keys");
const HEAD: Word = Word(
    "由 `inkstone keys` 从命令表生成。`[ui] keys` 可按命令名换键；`:` 按汉字、英文或拼音首字母找命令。",
    "Made by `inkstone keys` from the table of commands. `[ui] keys` gives other keys by the name of a command; `:` finds a command by a few letters.",
);
const EVERYWHERE: Word = Word("各页通用", "Everywhere");
const COLUMNS: Word = Word("| 键 | 命令 | 作用 |", "| keys | command | what it does |");

/// Every key, page by page, as Markdown.
pub(crate) fn markdown(language: Language) -> String {
    let mut text = format!("{}\n\n{}\n", TITLE.to(language), HEAD.to(language));
    let all = Page::ALL.len();
    let pages = Page::ALL.into_iter().map(Some).chain([None]);
    for page in pages {
        let title = page.map_or(EVERYWHERE, Page::name).to(language);
        let rows: Vec<String> = COMMANDS
            .iter()
            .filter(|command| match page {
                Some(page) => command.pages.len() < all && command.pages.contains(&page),
                None => command.pages.len() == all,
            })
            .map(|command| {
                let keys = command.keys.iter().filter_map(|key| KeyPress::parse(key).ok());
                let keys: Vec<String> = keys.map(|key| format!("`{key}`")).collect();
                format!("| {} | `{}` | {} |\n", keys.join(" "), command.id, command.help.to(language))
            })
            .collect();
        if !rows.is_empty() {
            text += &format!("\n## {title}\n\n{}\n| --- | --- | --- |\n{}", COLUMNS.to(language), rows.concat());
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pages_of_keys_are_those_of_the_table() {
        for (language, page) in [
            (Language::En, include_str!("../../../../assets/keys.en.md")),
            (Language::Zh, include_str!("../../../../assets/keys.zh.md")),
        ] {
            assert!(page == markdown(language), "write it anew: inkstone keys --lang en > assets/keys.en.md (and zh)");
        }
    }
}
