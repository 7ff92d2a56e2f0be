//! The structure of the demo's documents, through the pipeline.

use crate::config::Config;
use inkstone_base::data::Kind;
use inkstone_base::job::Ctx;
use inkstone_corpus::clean::clean_of_part;
use inkstone_corpus::demo;
use inkstone_corpus::structure::{Section, read_list, sentences_of_part};

#[test]
fn the_law_of_the_demo_is_found_and_its_views_are_not() {
    let dir = tempfile::tempdir().unwrap();
    let ctx = Ctx::new(2, 3).unwrap();
    demo::generate(&dir.path().join("data"), &demo::Params { scale: 0.5, seed: 3 }, &ctx).unwrap();
    let mut config = Config::parse("demo.toml", include_str!("../../assets/demo.toml")).unwrap();
    config.structure.enabled = true;
    super::run(&config, dir.path(), super::Stage::Structure, &ctx).unwrap();
    let project = super::project(&config, dir.path());
    let (mut law, mut views) = ([0; 3], [0; 3]);
    for (clean, found) in project.clean().files().unwrap().iter().zip(project.structure().files().unwrap()) {
        let documents = clean_of_part(clean).unwrap();
        for (doc, sentences) in documents.iter().zip(sentences_of_part(&found).unwrap()) {
            if doc.document.kind != Kind::Report {
                continue;
            }
            // Sentences are ranges of title and body, joined by a line break.
            let text = [doc.document.title.as_str(), doc.document.body.as_str()].join("\n");
            // The first half of the time teaches.
            let late = doc.document.published_at > "2024-06-30T00:00:00".parse().unwrap();
            for sentence in sentences {
                let sentence_text = &text[sentence.range.start as usize..sentence.range.end as usize];
                let counts = if DEMO_LAW.iter().any(|part| sentence_text.contains(part)) {
                    &mut law
                } else if DEMO_VIEWS.iter().any(|part| sentence_text.contains(part)) {
                    &mut views
                } else {
                    continue;
                };
                counts[0] += usize::from(late);
                counts[1] += usize::from(late && sentence.boilerplate);
                counts[2] += usize::from(late && sentence.section == Section::Disclaimer);
            }
        }
    }
    let list = read_list(&project.boilerplate()).unwrap();
    assert!(law[0] > 300 && views[0] > 500, "{law:?} {views:?}");
    assert!(law[1] * 100 >= law[0] * 95, "of {law:?}");
    assert!(law[2] * 100 >= law[0] * 99, "of {law:?}");
    assert!(views[1] * 100 <= views[0] * 5, "of {views:?}: {list:#?}");
    assert_eq!(views[2], 0);

    // Nothing has changed; then the user refuses a sentence.
    let again = |config: &Config| {
        let reports = super::run(config, dir.path(), super::Stage::Structure, &ctx).unwrap();
        reports.into_iter().find(|report| report.stage == "structure").unwrap()
    };
    assert!(again(&config).unchanged);
    config.structure.decisions = Some("boilerplate.toml".into());
    let before = again(&config);
    std::fs::write(dir.path().join("boilerplate.toml"), format!("refused = [{:?}]", list[0].id)).unwrap();
    let after = again(&config);
    assert!(!after.unchanged && after.facts["boilerplate_refused"] == 1, "{after:?}");
    assert_eq!(before.facts["boilerplate_list"], after.facts["boilerplate_list"]);
}

const DEMO_LAW: [&str; 4] = ["仅供本公司客户使用", "负责本报告的分析师", "任何形式翻版", "买入指未来六个月"];
const DEMO_VIEWS: [&str; 6] = ["我们认为公司", "投资建议：", "费用管控", "费用率", "新客户导入", "在手订单"];
