//! How cells and their settings are called: `layers=last:4 · pooling=cls`.

use serde_json::Value;

use inkstone_corpus::truncate::Strategy;

/// The setting whose values are strategies of truncation. These are known without its name.
pub const TRUNCATE: &str = "truncate";

/// True if the values of a setting are strategies of truncation, of the feature or of one that it learns on.
pub(super) fn cuts_text(path: &str) -> bool {
    path.rsplit('.').next() == Some(TRUNCATE)
}

/// A value as a name has it: a text bare, all others as JSON.
pub fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The last part of a path, or all of it where another path ends alike.
pub fn short<'p>(path: &'p str, paths: &[String]) -> &'p str {
    let last = |path: &'p str| path.rsplit_once('.').map_or(path, |(_, last)| last);
    let alike =
        paths.iter().filter(|other| other.rsplit_once('.').map_or(other.as_str(), |(_, end)| end) == last(path));
    if alike.count() > 1 { path } else { last(path) }
}

/// Settings in one line, in the order of their paths.
pub fn setting_names(paths: &[String], values: &[String]) -> String {
    let name = |(path, value): (&String, &String)| match path.as_str() {
        TRUNCATE => value.clone(),
        _ => format!("{}={value}", short(path, paths)),
    };
    paths.iter().zip(values).map(name).collect::<Vec<_>>().join(" · ")
}

/// The kind of a cell: its strategy without the limit where strategies vary, else the value of the first setting, else its feature.
pub fn family_of(feature: &str, paths: &[String], values: &[String], strategy: &Strategy) -> String {
    match (paths.iter().any(|path| path == TRUNCATE), paths.first().zip(values.first())) {
        (true, _) => strategy.family(),
        (false, Some((path, value))) => format!("{}={value}", short(path, paths)),
        (false, None) => feature.to_owned(),
    }
}

/// The name of a cell: its feature and its settings.
pub fn cell_name(feature: &str, setting: &str) -> String {
    if setting.is_empty() { feature.to_owned() } else { format!("{feature} · {setting}") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn settings_are_called_by_the_end_of_their_paths() {
        let names = |settings: &[(&str, Value)]| {
            let paths: Vec<String> = settings.iter().map(|setting| setting.0.to_owned()).collect();
            setting_names(&paths, &settings.iter().map(|setting| shown(&setting.1)).collect::<Vec<_>>())
        };
        assert_eq!(
            names(&[("onnx.layers", json!("last:4")), ("onnx.pooling", json!("cls"))]),
            "layers=last:4 · pooling=cls"
        );
        assert_eq!(
            names(&[("tfidf.ngram_range", json!([1, 2])), ("truncate", json!("head:512c -title"))]),
            "ngram_range=[1,2] · head:512c -title"
        );
        assert_eq!(names(&[("glove.dim", json!(50)), ("word2vec.dim", json!(100))]), "glove.dim=50 · word2vec.dim=100");
        assert_eq!((names(&[]), cell_name("bert", "")), (String::new(), "bert".to_owned()));
        assert_eq!(cell_name("bert", "pooling=cls"), "bert · pooling=cls");
    }
}
