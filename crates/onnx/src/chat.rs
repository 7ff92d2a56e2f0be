//! Prompts as a chat, by the template that a tokenizer brings (`chat_template`, in Jinja).

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use minijinja::syntax::SyntaxConfig;
use minijinja::{Environment, Error, ErrorKind, Value, context};
use serde::Deserialize;
use serde_json::Value as Json;

use inkstone_base::{bail, error, message};

/// Steps of a template at the most, as a file of a model could ask for any number.
const FUEL: u64 = 1_000_000;
/// Files that hold a template: alone, or as a setting.
const ALONE: &str = "chat_template.jinja";
const SETTINGS: &str = "tokenizer_config.json";

/// The settings of a tokenizer, as far as they are read here.
#[derive(Default, Deserialize)]
#[serde(default)]
struct ChatSettings {
    chat_template: Option<ChatTemplates>,
    bos_token: Option<Json>,
    eos_token: Option<Json>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum ChatTemplates {
    One(String),
    Several(Vec<NamedTemplate>),
}

#[derive(Deserialize)]
struct NamedTemplate {
    name: String,
    template: String,
}

/// A tokenizer's chat template, with the system message of each chat.
#[derive(Debug)]
pub(crate) struct ChatTemplate {
    environment: Environment<'static>,
    system: Option<String>,
    marks: [String; 2],
    file: PathBuf,
}

impl ChatTemplate {
    /// Reads the template of the folder of a tokenizer.
    pub(crate) fn read(folder: &Path, system: Option<String>) -> Result<ChatTemplate> {
        let (alone, file) = (folder.join(ALONE), folder.join(SETTINGS));
        let settings: ChatSettings = match std::fs::read(&file) {
            Ok(text) => serde_json::from_slice(&text).with_context(|| {
                message!("{} 不是分词器设置的 JSON", "{} is not the JSON of a tokenizer's settings", file.display())
            })?,
            Err(_) => ChatSettings::default(),
        };
        let (source, file) = match settings.chat_template {
            _ if alone.is_file() => {
                let text = std::fs::read_to_string(&alone)
                    .with_context(|| message!("无法读取 {}", "cannot read {}", alone.display()))?;
                (Some(text), alone)
            }
            Some(ChatTemplates::One(source)) => (Some(source), file),
            Some(ChatTemplates::Several(all)) => {
                (all.into_iter().find(|one| one.name == "default").map(|one| one.template), file)
            }
            None => (None, file),
        };
        let Some(source) = source else {
            bail!(
                "文件夹 {} 没有对话模板（{SETTINGS} 中的 chat_template，或 {ALONE}），该模型不是为对话而做：请去掉 --chat，并用 --prompt-file 写提示词",
                "the folder {} has no template of a chat (chat_template in {SETTINGS}, or {ALONE}), so the model was not made for one: leave --chat out, and write the prompt with --prompt-file",
                folder.display()
            )
        };
        let mark = |token: Option<Json>| match token {
            Some(Json::String(token)) => token,
            Some(Json::Object(token)) => token.get("content").and_then(Json::as_str).unwrap_or_default().to_owned(),
            _ => String::new(),
        };
        let marks = [mark(settings.bos_token), mark(settings.eos_token)];
        let mut environment = Environment::new();
        let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
        environment.set_syntax(syntax.map_err(|error| anyhow!("{error}"))?);
        environment.set_fuel(Some(FUEL));
        environment.set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
        environment.add_function("raise_exception", |message: String| -> Result<Value, Error> {
            Err(Error::new(ErrorKind::InvalidOperation, message))
        });
        environment.add_template_owned("chat", source).map_err(|error| {
            error!("{} 的模板无法使用：“{error:#}”", "the template of {} cannot be used: {error:#}", file.display())
        })?;
        Ok(ChatTemplate { environment, system, marks, file })
    }

    /// The text that the model goes on from, where the user has said this.
    pub(crate) fn render(&self, user: &str) -> Result<String> {
        let message = |role: &str, content: &str| context! { role => role, content => content };
        let system = self.system.iter().map(|system| message("system", system));
        let messages: Vec<Value> = system.chain([message("user", user)]).collect();
        let [bos_token, eos_token] = &self.marks;
        let fields = context! { messages, bos_token, eos_token, add_generation_prompt => true };
        let failed = |error: Error| {
            error!(
                "{} 的模板无法填写：“{error:#}”",
                "the template of {} cannot be filled: {error:#}",
                self.file.display()
            )
        };
        self.environment.get_template("chat").and_then(|template| template.render(fields)).map_err(failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chats_are_those_of_transformers() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/reference/generation/chat.json");
        let cases: Vec<Json> = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
        assert!(cases.len() >= 6);
        for case in cases {
            let folder = tempfile::tempdir().unwrap();
            std::fs::write(folder.path().join(SETTINGS), case["settings"].to_string()).unwrap();
            let system = case["system"].as_str().map(str::to_owned);
            let chat = ChatTemplate::read(folder.path(), system).unwrap();
            assert_eq!(chat.render(case["user"].as_str().unwrap()).unwrap(), case["text"].as_str().unwrap(), "{case}");
        }
    }

    #[test]
    fn a_template_that_cannot_be_used_says_why() {
        let folder = tempfile::tempdir().unwrap();
        let read = |template: &str| {
            std::fs::write(folder.path().join(ALONE), template).unwrap();
            ChatTemplate::read(folder.path(), None)
        };
        let none = format!("{:#}", ChatTemplate::read(folder.path(), None).unwrap_err());
        assert!(none.contains("no template of a chat") && none.contains("--prompt-file"), "{none}");
        let error = format!("{:#}", read("{% for %}").unwrap_err());
        assert!(error.contains("chat_template.jinja") && error.contains("cannot be used"), "{error}");
        let raised = read("{{ raise_exception('only tools') }}").unwrap().render("x").unwrap_err();
        assert!(format!("{raised:#}").contains("only tools"), "{raised:#}");
        let endless = read("{% for a in range(9999) %}{% for b in range(9999) %}x{% endfor %}{% endfor %}").unwrap();
        assert!(endless.render("x").is_err());
    }
}
