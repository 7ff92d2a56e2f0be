//! Lists of the user's: decisions on boilerplate, dictionaries, words with a tone.

use std::collections::BTreeSet;

use inkstone_corpus::structure::Decisions;
use inkstone_models::{Lexicon, LexiconParams};
use inkstone_text::read_dictionary;

use super::with_file;

pub(super) fn decisions(bytes: &[u8]) {
    with_file("decisions.toml", bytes, |path| {
        let Ok(mut decisions) = Decisions::read(path) else { return };
        decisions.accepted.insert("0123456789".into());
        decisions.refused.remove("0123456789");
        if decisions.write(path, |_| None).is_ok() {
            let again = Decisions::read(path).expect("what was written can be read");
            let same = |a: &BTreeSet<String>, b: &BTreeSet<String>| assert_eq!(a, b);
            same(&again.accepted, &decisions.accepted);
            same(&again.refused, &decisions.refused);
            assert_eq!(again.added(), decisions.added());
        }
    });
}

pub(super) fn dictionaries(bytes: &[u8]) {
    with_file("words.txt", bytes, |path| {
        let Ok((entries, report)) = read_dictionary(path) else { return };
        assert_eq!(entries.len(), report.words);
        assert!(entries.iter().all(|entry| !entry.word.is_empty() && !entry.word.contains(char::is_whitespace)));
    });
}

pub(super) fn words(bytes: &[u8]) {
    with_file("words.txt", bytes, |path| {
        let folder = path.parent().expect("a temporary folder");
        let lists = |positive: &[&str], signed: &[&str]| LexiconParams {
            builtin: false,
            positive: positive.iter().map(Into::into).collect(),
            signed: signed.iter().map(Into::into).collect(),
            ..LexiconParams::default()
        };
        for params in [lists(&["words.txt"], &[]), lists(&[], &["words.txt"])] {
            let Ok(lexicon) = Lexicon::new(&params, folder) else { continue };
            assert!(lexicon.words().all(|word| !word.is_empty()));
            lexicon.tone(&["增长", "不", "下滑"]);
        }
    });
}
