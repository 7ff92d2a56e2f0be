//! The model file of a lexicon: its entries with their roles, so that a tone needs no lists any more.

use std::path::Path;

use anyhow::{Context, Result};
use rustc_hash::FxHashMap;
use serde::Serialize;
use serde_json::json;

use super::{Lexicon, LexiconParams, Role};
use crate::{ModelFile, ModelHeader, pack_strings, write_model};

use inkstone_base::ensure;
use inkstone_base::language::Word;

impl Lexicon {
    /// Kind of its model files.
    pub const KIND: &str = "lexicon";
    const VERSION: u32 = 1;

    /// Writes the model file; `cut` says how its documents are cut.
    pub fn save(&self, path: &Path, cut: &impl Serialize) -> Result<()> {
        let header = ModelHeader {
            kind: Lexicon::KIND.to_owned(),
            version: Lexicon::VERSION,
            fitted_until: self.fitted_until,
            documents: 0,
            params: json!({"cut": cut, "lexicon": self.params}),
        };
        let mut entries: Vec<(&String, Role)> = self.entries.iter().map(|(entry, &role)| (entry, role)).collect();
        entries.sort_unstable_by_key(|(entry, _)| *entry);
        let names = pack_strings(entries.iter().map(|(entry, _)| entry.as_str()));
        let roles = serde_json::to_vec(&entries.iter().map(|(_, role)| role).collect::<Vec<_>>())?;
        write_model(path, &header, &[("entries", &names), ("roles", &roles), ("words", &pack_strings(self.words()))])
    }

    pub fn read(file: &ModelFile) -> Result<Lexicon> {
        file.expect(Lexicon::KIND, Lexicon::VERSION)?;
        let params: LexiconParams = file.param("lexicon")?;
        let names = file.strings("entries")?;
        let roles: Vec<Role> = serde_json::from_slice(file.bytes("roles")?)
            .context(Word("词的角色已损坏；请重新训练", "the roles are damaged; train it again"))?;
        ensure!(
            names.len() == roles.len(),
            "词典有 {} 个词条，却有 {} 个角色",
            "the lexicon has {} entries and {} roles",
            names.len(),
            roles.len()
        );
        let entries: FxHashMap<String, Role> = names.into_iter().map(str::to_owned).zip(roles).collect();
        let words = file.strings("words")?.into_iter().map(str::to_owned).collect();
        Ok(Lexicon::from_parts(entries, words, params, Vec::new(), file.header().fitted_until))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_saved_lexicon_gives_the_same_tones() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("p.txt"), "# fitted_until: 2024-03-01 15:00:00\n产销两旺\t2\n").unwrap();
        let params = LexiconParams { positive: vec!["p.txt".into()], ..LexiconParams::default() };
        let lexicon = Lexicon::new(&params, dir.path()).unwrap();
        let path = dir.path().join("m");
        lexicon.save(&path, &"cut").unwrap();
        let again = Lexicon::read(&ModelFile::open(&path).unwrap()).unwrap();
        assert_eq!(
            (again.key(), again.size(), again.fitted_until()),
            (lexicon.key(), lexicon.size(), lexicon.fitted_until())
        );
        assert!(again.words().eq(lexicon.words()));
        let tokens = ["公司", "产销两旺", "，", "成本", "大幅", "下降", "，", "未", "亏损"];
        assert_eq!(again.explain(&tokens), lexicon.explain(&tokens));
    }
}
