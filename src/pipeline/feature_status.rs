//! The status of the features of a configuration: computed as configured, stale or missing. Nothing is run for it.

use std::path::Path;

use anyhow::Result;

use super::stage::StageId;
use super::{PipelineRun, needs_structure, structure_params};
use crate::config::Config;
use inkstone_base::data::{Key, Report};
use inkstone_base::job::Ctx;
use inkstone_features::extract::Feature;

/// The status of a configured feature.
#[derive(Clone, Debug)]
pub struct FeatureStatus {
    /// Name of the feature.
    pub feature: String,
    /// Id of the feature set that the last run made.
    pub made: Option<Key>,
    /// True if the next run would keep that set, as long as it ingests nothing new.
    pub current: bool,
    /// The report of the last run on it.
    pub report: Option<Report>,
}

/// The status of the features of a configuration, in its order. A feature that names a file which is not there is stale.
pub fn feature_statuses(config: &Config, base: &Path, ctx: &Ctx) -> Result<Vec<FeatureStatus>> {
    let mut run = PipelineRun::new(config, base, ctx)?;
    let ingested = run.project.ingest_log().exists();
    if ingested {
        run.read_ingest_keys()?;
        run.corpus = run.clean_key();
        run.corpus = run.link_key()?;
        if needs_structure(config).sentences {
            run.structure = run.structure_key(&structure_params(config)).ok();
        }
    }
    let status = |feature: &Feature| {
        let id = StageId::Extract(feature.name.clone());
        let before = run.state.key_of(&id);
        FeatureStatus {
            feature: feature.name.clone(),
            made: before.and_then(|(_, made)| made),
            current: ingested && before.is_some_and(|(key, _)| run.extract_key(feature).is_ok_and(|now| now == key)),
            report: run.state.report(&id).cloned(),
        }
    };
    Ok(config.feature.iter().map(status).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::{self, Stage};
    use inkstone_base::data::Kind;

    #[test]
    fn a_feature_is_stale_as_soon_as_it_is_configured_otherwise() {
        let dir = tempfile::tempdir().unwrap();
        let news = "doc_id,published_at,title,body\n\
            1,2024-03-01 09:00:00,瑞禾电气业绩预增,净利润同比增长。\n\
            2,2024-03-02 09:00:00,启澜生物减持,股东拟减持。\n";
        std::fs::write(dir.path().join("news.csv"), news).unwrap();
        let toml =
            "[[source]]\nname = \"news\"\npath = \"news.csv\"\n\n[[feature]]\nname = \"tone\"\nmodel = \"lexicon\"\n";
        std::fs::write(dir.path().join("workbench.toml"), toml).unwrap();
        let mut config = Config::read(&dir.path().join("workbench.toml")).unwrap();
        let ctx = Ctx::new(1, config.project.seed).unwrap();
        let look = |config: &Config| feature_statuses(config, dir.path(), &ctx).unwrap().remove(0);
        let before = look(&config);
        assert!(before.made.is_none() && !before.current && before.report.is_none());
        assert!(!pipeline::project(&config, dir.path()).dir().exists(), "who only looks makes no folder");
        pipeline::run(&config, dir.path(), Stage::Extract, &ctx).unwrap();
        let made = look(&config);
        assert!(made.current && made.made.is_some());
        assert_eq!(made.report.map(|report| (report.rows_in, report.rows_out)), Some((2, 2)));
        config.feature[0].kinds = vec![Kind::Report];
        let stale = look(&config);
        assert!(!stale.current && stale.made == made.made);
        config.feature[0].kinds.clear();
        assert!(look(&config).current);
        config.tokenizer.hmm = !config.tokenizer.hmm;
        assert!(!look(&config).current, "what it reads counts too");
    }

    #[test]
    fn a_feature_is_stale_while_its_model_is_missing_or_another() {
        let dir = tempfile::tempdir().unwrap();
        let news = "doc_id,published_at,title,body\n1,2024-03-01 09:00:00,瑞禾电气业绩预增,净利润同比增长。\n";
        let vectors = "2 2\n净利润 1 0\n增长 0 1\n";
        std::fs::write(dir.path().join("news.csv"), news).unwrap();
        std::fs::write(dir.path().join("v.vec"), vectors).unwrap();
        let toml = "[[source]]\nname = \"news\"\npath = \"news.csv\"\n\n[[feature]]\nname = \"place\"\nmodel = \"file\"\n\
                    file = { path = \"v.vec\", fitted_until = \"2019-12-31\" }\n";
        std::fs::write(dir.path().join("workbench.toml"), toml).unwrap();
        let config = Config::read(&dir.path().join("workbench.toml")).unwrap();
        let ctx = Ctx::new(1, config.project.seed).unwrap();
        let current = || feature_statuses(&config, dir.path(), &ctx).unwrap().remove(0).current;
        pipeline::run(&config, dir.path(), Stage::Extract, &ctx).unwrap();
        assert!(current());
        std::fs::remove_file(dir.path().join("v.vec")).unwrap();
        assert!(!current(), "the file is not there");
        std::fs::write(dir.path().join("v.vec"), vectors.replace("0 1", "0 2")).unwrap();
        assert!(!current(), "the file is another one");
        std::fs::write(dir.path().join("v.vec"), vectors).unwrap();
        assert!(current());
    }
}
