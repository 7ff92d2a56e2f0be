use super::*;

fn plan(text: &str) -> Result<Plan> {
    Plan::new(&Params { name: "f".to_owned(), expression: text.parse()?, ..Params::default() })
}

fn error(text: &str) -> String {
    format!("{:#}", plan(text).unwrap_err())
}

#[test]
fn what_is_of_documents_is_aggregated_as_the_factor_says() {
    let plan = plan("tone.positive - tone.negative").unwrap();
    assert_eq!((plan.features(), &plan.value), (&["tone".to_owned()][..], &DayNode::Documents(0)));
    let reading = &plan.readings[0];
    assert_eq!((reading.aggregate, reading.window.days, reading.first_only), (Aggregate::Mean, 5, true));
    assert!(matches!(&reading.value, DocumentNode::Binary(Operator::Minus, ..)));
}

#[test]
fn the_same_reading_is_done_once() {
    let plan =
        plan("mean(tone) / (1 + mean(tone)) - mean(tone, days = 60) + 0 * count(kinds = news + report)").unwrap();
    assert_eq!(plan.readings.len(), 3);
    assert_eq!(plan.readings[1].window.days, 60);
    assert_eq!(plan.readings[2].kinds, [Kind::News, Kind::Report]);
}

#[test]
fn events_are_read_by_their_kinds() {
    let made =
        plan("sum(event.amount, events = 回购 + 增持, days = 60) / market.cap + count(events = 回购, days = 20)");
    let made = made.unwrap();
    assert_eq!((made.events(), made.reads_events(), made.features().len()), (vec!["回购", "增持"], true, 0));
    assert_eq!((made.readings[0].window.days, made.readings[1].aggregate), (60, Aggregate::Count));
    assert!(!plan("mean(tone)").unwrap().reads_events());
}

#[test]
fn controls_and_factors_are_part_of_the_plan() {
    let params = Params {
        expression: "residual(factor.heat, log(market.cap)) + rank(tone)".parse().unwrap(),
        neutralise: vec![Control::Size, "fill(count(kinds = report), 0)".parse().unwrap()],
        ..Params::default()
    };
    let plan = Plan::new(&params).unwrap();
    assert_eq!((plan.factors(), plan.controls.len(), plan.readings.len()), (&["heat".to_owned()][..], 1, 2));
    assert!(matches!(plan.controls[0].1, DayNode::Fill(0.0, _)));
}

#[test]
fn levels_do_not_mix_and_options_are_checked() {
    assert!(error("tone + market.close").contains("operator at character 6"), "{}", error("tone + market.close"));
    assert!(error("mean(market.close)").contains("over how many days"));
    assert!(error("mean(market.close, days = 3, kinds = news)").contains("is of days already"));
    assert!(error("combine(tone)").contains("two numbers or more"));
    assert!(error("combine(tone, heat, by = best)").contains("there are: equal, ic, icir, ridge"));
    assert!(error("combine(tone, heat, days = 5)").contains("give 20 or more"));
    assert!(error("combine(tone, heat, decay = 0.9)").contains("there are: by, days, horizon"));
    assert!(error("mean(tone, kinds = blog)").contains("news report announcement post"));
    assert!(error("max(tone, decay = 0.9)").contains("max, min and last"));
    assert!(error("mean(tone, days = 2.5)").contains("whole number"));
    assert!(error("mean(tone, weight = market.close)").contains("not of days"));
    assert!(error("document.mood").contains("has no \"mood\"; there are: rating"), "{}", error("document.mood"));
    assert!(error("event.amount").contains("name their kind, as in sum(event.amount, events = "));
    assert!(error("event.size").contains("has no \"size\"; there are: amount, price, percent, shares"));
    assert!(error("spread(tone, graph = mentions, days = 5, events = 回购)").contains("no option of graph = mentions"));
    assert!(error("lag(tone)").contains("lag(x, days)"));
    assert!(error("mean(2)").contains("the same for all"));
    assert!(error("").contains("expression is missing"));
    assert!(check_feature_name("market").is_err() && check_feature_name("tone").is_ok());
}
