//! The help of the command line in Chinese or English.
//!
//! The doc comment of a command or flag has both texts: English paragraphs, and behind them Chinese ones, which end with `。`.

use clap::builder::Resettable;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command, CommandFactory};

use super::Cli;

use inkstone_base::language::{Language, Word};

/// Headings of groups of flags, by their English text.
const HEADINGS: [Word; 5] = [
    Word("所有命令通用", "Every command"),
    Word("切分文本", "Cutting text"),
    Word("上下文模型（ONNX）", "Contextual models (ONNX)"),
    Word("训练", "Training"),
    Word("文件", "Files"),
];

/// The command line with its help in this language.
pub fn command(language: Language) -> Command {
    let mut command = Cli::command();
    command.build();
    told_in(command, language)
}

fn told_in(command: Command, language: Language) -> Command {
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let long = command.get_long_about().map(ToString::to_string);
    let (about, long) = texts(&about, long, language);
    let name = command.get_name().to_owned();
    let about = match name.as_str() {
        "help" => HELP_OF_COMMANDS.to(language).to_owned(),
        "inkstone" => PROGRAM.to(language).to_owned(),
        _ => about,
    };
    let mut command = command.about(about).long_about(optional(long));
    if language == Language::Zh {
        command = command
            .help_template("{about-with-newline}\n用法：{usage}\n\n{all-args}{after-help}")
            .subcommand_help_heading("命令")
            .subcommand_value_name("命令");
    }
    command.mut_args(|arg| flag_in(arg, language)).mut_subcommands(|inner| told_in(inner, language))
}

const PROGRAM: Word = Word(
    "砚 Inkstone：研究中文金融文本的终端工作台，从原始新闻与研报到经过检验、可导出的因子",
    env!("CARGO_PKG_DESCRIPTION"),
);

/// The sentences on flags and commands that clap makes itself.
const PRINT_HELP: Word = Word("显示帮助", "Print help");
const PRINT_VERSION: Word = Word("显示版本", "Print version");
const HELP_OF_COMMANDS: Word = Word("显示命令的帮助", "Print the help of commands");

fn flag_in(arg: Arg, language: Language) -> Arg {
    let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    let long = arg.get_long_help().map(ToString::to_string);
    let (mut help, mut long) = match arg.get_id().as_str() {
        "help" => (PRINT_HELP.to(language).to_owned(), None),
        "version" => (PRINT_VERSION.to(language).to_owned(), None),
        _ => texts(&help, long, language),
    };
    let heading = arg.get_help_heading().map(str::to_owned);
    if language == Language::En {
        return arg.help(help).long_help(optional(long));
    }
    // clap says in English alone what the default and the possible values are.
    let defaults: Vec<String> =
        arg.get_default_values().iter().map(|value| value.to_string_lossy().into_owned()).collect();
    let possible: Vec<String> = match arg.get_action().takes_values() {
        true => arg.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect(),
        false => Vec::new(),
    };
    let mut notes = String::new();
    if !defaults.is_empty() && !arg.is_hide_default_value_set() && arg.get_action().takes_values() {
        notes += &format!(" [默认：{}]", defaults.join(" "));
    }
    if !possible.is_empty() && !arg.is_hide_possible_values_set() {
        notes += &format!(" [可选：{}]", possible.join("、"));
    }
    help += &notes;
    if let Some(long) = &mut long {
        *long += &notes;
    }
    let heading = match heading {
        Some(heading) => HEADINGS.iter().find(|word| word.1 == heading).map(|word| word.0),
        None if arg.is_positional() => Some("参数"),
        None => Some("选项"),
    };
    let arg = arg.help(help).long_help(optional(long)).hide_default_value(true).hide_possible_values(true);
    match heading {
        Some(heading) => arg.help_heading(heading),
        None => arg,
    }
}

fn optional(text: Option<String>) -> Resettable<clap::builder::StyledStr> {
    text.map_or(Resettable::Reset, |text| Resettable::Value(text.into()))
}

/// The first paragraph of one language, and all its paragraphs where there are several.
fn texts(help: &str, long: Option<String>, language: Language) -> (String, Option<String>) {
    let all = long.unwrap_or_else(|| help.to_owned());
    let part = |language: Language| {
        let is_chinese = |paragraph: &&str| paragraph.trim_end().ends_with('。');
        let paragraphs: Vec<&str> =
            all.split("\n\n").filter(|text| is_chinese(text) == (language == Language::Zh)).collect();
        paragraphs
    };
    let paragraphs = Some(part(language)).filter(|found| !found.is_empty()).unwrap_or_else(|| part(Language::En));
    let first = match paragraphs.first() {
        // clap leaves out the full stop of a first paragraph.
        Some(first) => first.trim_end().trim_end_matches(['.', '。']).to_owned(),
        None => help.to_owned(),
    };
    let long = (paragraphs.len() > 1).then(|| paragraphs.join("\n\n"));
    (first, long)
}

/// An error in the flags in this language. What is printed for `--help` and `--version` stays as it is.
pub fn explained(error: &clap::Error, language: Language) -> Option<String> {
    let kinds =
        [ErrorKind::DisplayHelp, ErrorKind::DisplayVersion, ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand];
    if language == Language::En || kinds.contains(&error.kind()) {
        return None;
    }
    let part = |kind: ContextKind| match error.get(kind) {
        Some(ContextValue::String(text)) => text.clone(),
        Some(ContextValue::Strings(texts)) => texts.join("、"),
        Some(ContextValue::StyledStr(text)) => text.to_string(),
        Some(ContextValue::StyledStrs(texts)) => texts.iter().map(ToString::to_string).collect::<Vec<_>>().join("、"),
        Some(ContextValue::Number(number)) => number.to_string(),
        _ => String::new(),
    };
    let (arg, value) = (part(ContextKind::InvalidArg), part(ContextKind::InvalidValue));
    let mut text = match error.kind() {
        ErrorKind::InvalidValue if value.is_empty() => format!("{arg} 需要一个值"),
        ErrorKind::InvalidValue => format!("{arg} 的值“{value}”无效"),
        ErrorKind::ValueValidation => {
            let why = std::error::Error::source(error).map(|why| format!("：{why}")).unwrap_or_default();
            format!("{arg} 的值“{value}”无效{why}")
        }
        ErrorKind::UnknownArgument => format!("没有选项“{arg}”"),
        ErrorKind::InvalidSubcommand => format!("没有命令“{}”", part(ContextKind::InvalidSubcommand)),
        ErrorKind::MissingRequiredArgument => format!("缺少 {arg}"),
        ErrorKind::MissingSubcommand => "缺少命令".to_owned(),
        ErrorKind::ArgumentConflict => format!("{arg} 与 {} 不能同时写", part(ContextKind::PriorArg)),
        ErrorKind::NoEquals => format!("{arg} 的值须用等号给出"),
        ErrorKind::TooManyValues => format!("{arg} 的值过多：“{value}”"),
        ErrorKind::TooFewValues => {
            format!(
                "{arg} 需要 {} 个值，只给了 {} 个",
                part(ContextKind::MinValues),
                part(ContextKind::ActualNumValues)
            )
        }
        ErrorKind::WrongNumberOfValues => {
            format!(
                "{arg} 需要 {} 个值，给了 {} 个",
                part(ContextKind::ExpectedNumValues),
                part(ContextKind::ActualNumValues)
            )
        }
        ErrorKind::InvalidUtf8 => "有选项不是 UTF-8".to_owned(),
        _ => return None,
    };
    for (kind, words) in [
        (ContextKind::SuggestedArg, "是不是"),
        (ContextKind::SuggestedSubcommand, "是不是"),
        (ContextKind::SuggestedValue, "是不是"),
        (ContextKind::ValidValue, "可用"),
    ] {
        let found = part(kind);
        if !found.is_empty() {
            text += &format!("\n  {words}：{found}");
        }
    }
    let usage = part(ContextKind::Usage);
    if !usage.is_empty() {
        text += &format!("\n\n{}", usage.replace("Usage: ", "用法："));
    }
    Some(format!("错误：{text}\n\n更多说明见 --help\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_han(c: char) -> bool {
        ('一'..='龥').contains(&c)
    }

    /// Every command with its path, and its flags.
    fn walk(command: &Command, path: &str, each: &mut impl FnMut(&str, &str, &str)) {
        let path = format!("{path} {}", command.get_name());
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        each(&path, "", &about);
        for arg in command.get_arguments().filter(|arg| !arg.is_hide_set()) {
            each(&path, arg.get_id().as_str(), &arg.get_help().map(ToString::to_string).unwrap_or_default());
        }
        command.get_subcommands().for_each(|inner| walk(inner, &path, each));
    }

    #[test]
    fn every_command_and_flag_is_told_in_both_languages() {
        let mut lacking = Vec::new();
        walk(&command(Language::Zh), "", &mut |path, flag, help| {
            // The notes that are added here are Chinese whatever the sentence is.
            let sentence = help.split(" [默认").next().and_then(|text| text.split(" [可选").next()).unwrap_or_default();
            if !path.contains(" help") && !sentence.chars().any(is_han) {
                lacking.push(format!("{path} {flag}: {help}"));
            }
        });
        assert!(lacking.is_empty(), "{} lack Chinese:\n{}", lacking.len(), lacking.join("\n"));
        walk(&command(Language::En), "", &mut |path, flag, help| {
            let letters = help.chars().filter(char::is_ascii_alphabetic).count();
            assert!(
                !help.trim().is_empty() && letters > help.chars().filter(|c| is_han(*c)).count(),
                "{path} {flag}: {help}"
            );
        });
    }

    #[test]
    fn the_command_line_reads_the_same_in_both_languages() {
        for language in Language::ALL {
            command(language).debug_assert();
            let read = command(language).try_get_matches_from(["inkstone", "run", "--stage", "clean", "--seed", "3"]);
            assert!(read.is_ok(), "{read:?}");
        }
    }

    #[test]
    fn errors_in_flags_are_told_in_chinese() {
        let error_of = |line: &str| {
            let error = command(Language::Zh).try_get_matches_from(line.split(' ')).unwrap_err();
            explained(&error, Language::Zh).unwrap()
        };
        let unknown = error_of("inkstone run --sede 3");
        assert!(unknown.contains("没有选项“--sede”") && unknown.contains("是不是：--seed"), "{unknown}");
        assert!(error_of("inkstone store rnu").contains("没有命令“rnu”"));
        assert!(error_of("inkstone run --threads x").contains("--threads <N> 的值“x”无效"));
        assert!(error_of("inkstone backtest --factor f.csv").contains("缺少 --prices <FILE>"));
    }
}
