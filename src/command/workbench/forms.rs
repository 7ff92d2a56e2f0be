//! The functions of the forms: the configuration as a text, with the sentences of the template on its keys, and the first rows of a file.

#[cfg(test)]
mod screens;
#[cfg(test)]
mod welcome;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};

use crate::config::{Config, TEMPLATE, bounds, edit, outline};
use inkstone_base::data::Key;
use inkstone_base::disk;
use inkstone_base::language::Word;
use inkstone_base::{ensure, message};
use inkstone_corpus::ingest;
use inkstone_tui::{Change, ChangeHistory, FormBench, SettingEntry, SettingFault, SettingGroup, Sheet};

/// The forms on a configuration, which need not exist yet.
pub(crate) fn bench(file: &Path) -> FormBench {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let settings = Arc::new(outline::settings());
    let (base, to_read, to_save, to_preview) = (folder.to_owned(), file.to_owned(), file.to_owned(), file.to_owned());
    let (on_reading, on_saving) = (settings.clone(), settings.clone());
    let (history, to_undo) = (ChangeHistory::default(), file.to_owned());
    let (on_save, on_undo) = (history.clone(), history.clone());
    FormBench {
        file: file.to_owned(),
        stood: std::fs::read(file).ok().map(|bytes| Key::of(&bytes)),
        folder: folder.to_owned(),
        read: Arc::new(move || read(&to_read, &on_reading)),
        change: Arc::new(move |sheet, change| Ok(sheet_of(changed(sheet, change)?, sheet.stood, &settings))),
        save: Arc::new(move |sheet| {
            let before = std::fs::read_to_string(&to_save).ok();
            let saved = save(&to_save, sheet, &on_saving)?;
            if let (Some(before), Some(after)) = (before, saved.stood) {
                on_save.push(before, after);
            }
            Ok(saved)
        }),
        undo: Arc::new(move || undo(&to_undo, &on_undo)),
        history,
        preview: Arc::new(move |source, ctx| {
            // A configuration that cannot be read yet is no reason not to look at a file.
            let params = Config::read(&to_preview).map(|config| config.ingest).unwrap_or_default();
            ingest::preview(source, &params, &base, ctx)
        }),
    }
}

/// The file as it is; if there is none, the template with the name of the folder.
fn read(file: &Path, settings: &[outline::Setting]) -> Result<Sheet> {
    match std::fs::read_to_string(file) {
        Ok(text) => {
            let stood = Key::of(text.as_bytes());
            Ok(sheet_of(text, Some(stood), settings))
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let folder = std::path::absolute(file).ok();
            let name =
                folder.as_deref().and_then(Path::parent).and_then(Path::file_name).map(|name| name.to_string_lossy());
            let text = match name {
                Some(name) => edit::set(TEMPLATE, "project.name", &edit::quoted(&name))?,
                None => TEMPLATE.to_owned(),
            };
            Ok(sheet_of(text, None, settings))
        }
        Err(error) => {
            Err(error).with_context(|| message!("无法读取配置 {}", "cannot read the configuration {}", file.display()))
        }
    }
}

fn changed(sheet: &Sheet, change: &Change) -> Result<String> {
    let text = &sheet.text;
    match change {
        Change::Set(path, value) => edit::set(text, path, value),
        Change::Unset(path) => edit::unset(text, path),
        Change::Example(section) => {
            let in_section = |group: &&SettingGroup| group.path.starts_with(&format!("{section}["));
            let taken: Vec<String> =
                sheet.groups.iter().filter(in_section).filter_map(|group| group.name.clone()).collect();
            let block = outline::example(section, &taken);
            edit::add(
                text,
                section,
                &block.with_context(|| message!("[{section}] 只能有一个", "there can be only one [{section}]"))?,
            )
        }
        Change::Source(source) => edit::add(text, "source", &edit::source_block(source)),
        Change::Block(section, block) => edit::add(text, section, block),
        Change::Remove(section, number) => edit::remove(text, section, *number),
    }
}

/// Writes the text, unless the file has changed since it was read.
fn save(file: &Path, sheet: &Sheet, settings: &[outline::Setting]) -> Result<Sheet> {
    let now = match std::fs::read(file) {
        Ok(bytes) => Some(Key::of(&bytes)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => return Err(error).with_context(|| message!("无法读取 {}", "cannot read {}", file.display())),
    };
    ensure!(
        now == sheet.stood,
        "{} 在读取之后被另一程序改动；什么也没有写（按 R 重新读取并放弃你的改动）",
        "{} was changed by another program since it was read; nothing was written (R reads it again and discards your changes)",
        file.display()
    );
    write(file, &sheet.text)?;
    Ok(sheet_of(sheet.text.clone(), Some(Key::of(sheet.text.as_bytes())), settings))
}

fn write(file: &Path, text: &str) -> Result<()> {
    // A link stays a link: its target is written.
    let place: PathBuf = std::fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
    disk::write_atomic(&place, |out| Ok(out.write_all(text.as_bytes())?))
}

/// Writes the text before the last change, unless the file has changed since. Returns how many changes are left.
fn undo(file: &Path, history: &ChangeHistory) -> Result<usize> {
    let (before, after) = history.pop().context(Word(
        "本次打开后没有改过配置，没有可撤销的",
        "nothing to undo: no change was saved since the start",
    ))?;
    let now = std::fs::read(file).with_context(|| message!("无法读取 {}", "cannot read {}", file.display()))?;
    ensure!(
        Key::of(&now) == after,
        "{} 在上次保存之后被另一程序改动，没有撤销",
        "{} was changed by another program since it was saved; nothing was undone",
        file.display()
    );
    write(file, &before)?;
    Ok(history.len())
}

/// Lists whose members are the names of sections of one kind.
const MEMBERS_BY_NAME: [(&str, &str); 4] = [
    ("ingest.precedence", "source"),
    ("feature.inputs", "feature"),
    ("experiment.features", "feature"),
    ("on.of", "factor"),
];

fn sheet_of(text: String, stood: Option<Key>, settings: &[outline::Setting]) -> Sheet {
    let faults = Config::faults(&text).into_iter();
    let faults =
        faults.map(|fault| SettingFault { line: fault.line, path: fault.path, message: fault.message }).collect();
    let table: toml::Table = toml::from_str(&text).unwrap_or_default();
    let values = edit::Written::read(&text).ok();
    let value = |path: &str| values.as_ref()?.get(path).map(str::to_owned);
    let mut groups = Vec::new();
    let mut sections: Vec<&str> = settings.iter().map(|setting| setting.section.as_str()).collect();
    sections.dedup();
    for section in sections {
        let keys: Vec<&outline::Setting> = settings.iter().filter(|setting| setting.section == section).collect();
        if !keys.iter().any(|setting| setting.repeated) {
            let written = table.get(section).and_then(toml::Value::as_table);
            groups.push(group(section.to_owned(), None, &keys, written, value));
            continue;
        }
        let items = table.get(section).and_then(toml::Value::as_array).map_or(&[][..], Vec::as_slice);
        groups.push(SettingGroup { path: section.to_owned(), count: Some(items.len()), ..SettingGroup::default() });
        for (number, item) in items.iter().enumerate() {
            let written = item.as_table();
            let name = written.and_then(|table| table.get("name")?.as_str()).map(str::to_owned);
            groups.push(group(format!("{section}[{number}]"), name, &keys, written, value));
        }
    }
    for (key, of) in MEMBERS_BY_NAME {
        let names = |section: &&SettingGroup| section.path.starts_with(&format!("{of}["));
        let names: Vec<String> = groups.iter().filter(names).filter_map(|section| section.name.clone()).collect();
        let entries = groups.iter_mut().flat_map(|section| {
            let path = section.path.split('[').next().unwrap_or_default().to_owned();
            section.entries.iter_mut().filter(move |entry| format!("{path}.{}", entry.key) == key)
        });
        entries.for_each(|entry| entry.choices.clone_from(&names));
    }
    Sheet { text, stood, groups, faults }
}

fn group(
    path: String,
    name: Option<String>,
    keys: &[&outline::Setting],
    written: Option<&toml::Table>,
    value: impl Fn(&str) -> Option<String>,
) -> SettingGroup {
    let value = |key: &str| value(&format!("{path}.{key}"));
    let model = written.and_then(|table| table.get("model")?.as_str()).unwrap_or_default();
    let mut entries: Vec<SettingEntry> = keys
        .iter()
        .map(|setting| SettingEntry {
            key: setting.key.clone(),
            value: value(&setting.key),
            default: setting.default.clone(),
            example: setting.example.clone(),
            description: bounded(setting),
            choices: setting.choices.clone(),
            // Parameters of other models than the feature's.
            aside: setting.section == "feature" && setting.key.split_once('.').is_some_and(|(table, _)| table != model),
        })
        .collect();
    // Keys that the template does not have: maps of any names, and mistakes.
    let mut names = Vec::new();
    if let Some(table) = written {
        leaves(table, "", &mut names);
    }
    for key in names {
        let known = |entry: &SettingEntry| key == entry.key || key.starts_with(&format!("{}.", entry.key));
        if !entries.iter().any(known) {
            let value = value(&key);
            entries.push(SettingEntry { key, value, ..SettingEntry::default() });
        }
    }
    SettingGroup { path, name, count: None, entries }
}

/// The sentences of a key, in Chinese and English, with the bounds of its number.
fn bounded(setting: &outline::Setting) -> [String; 2] {
    let bound = bounds::bound_of(&format!("{}.{}", setting.section, setting.key));
    [&setting.chinese, &setting.english].map(|sentence| match bound {
        Some(bound) => format!("{sentence} [{bound}]").trim().to_owned(),
        None => sentence.clone(),
    })
}

/// Paths of all values below a table; lists of tables are no values of one line.
fn leaves(table: &toml::Table, above: &str, into: &mut Vec<String>) {
    for (key, value) in table {
        let path = format!("{above}{key}");
        match value {
            toml::Value::Table(inner) => leaves(inner, &format!("{path}."), into),
            toml::Value::Array(items) if items.iter().any(toml::Value::is_table) => {}
            _ => into.push(path),
        }
    }
}
