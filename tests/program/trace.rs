//! From a value of a factor down to the words that moved it.

use serde_json::Value;

use crate::desk::Desk;
use crate::{assert_says, run};

fn texts<'v>(list: &'v Value, key: &str) -> Vec<&'v str> {
    list.as_array().unwrap().iter().map(|item| item[key].as_str().unwrap()).collect()
}

#[test]
fn a_value_is_traced_to_its_words() {
    let desk = Desk::new();
    let trace = |flags: &[&str]| run(desk.folder(), &[&["trace", "tone"], flags].concat());
    // Nothing was run yet.
    assert_says(&trace(&["--date", "2024-03-08"]).refusal(), &["\"tone\" is not built yet", "inkstone factor"]);
    desk.run().finished();

    let json = trace(&["--date", "2024-03-08"]).finished();
    let date = &json["date"];
    assert_eq!((date["entry"].as_str(), date["price"].as_str()), (Some("2024-03-11"), Some("open")), "{date:#}");
    let names = date["names"].as_array().unwrap();
    assert_eq!(names.len(), 4);
    assert!(names.windows(2).all(|pair| pair[0]["value"].as_f64() >= pair[1]["value"].as_f64()));
    assert!(names.iter().all(|name| name["documents"] == 5 && name["returns"][0].is_number()), "{names:#?}");
    let top = trace(&["--date", "2024-03-08", "--quantile", "2"]).finished();
    assert!(top["date"]["names"].as_array().unwrap().iter().all(|name| name["quantile"] == 2));
    // The dates of the quantile have in common what their names have.
    let days = trace(&["--quantile", "2"]).finished();
    let days = days["days"].as_array().unwrap();
    let day = days.iter().find(|day| day["date"] == "2024-03-08").unwrap();
    let mean = |of: &dyn Fn(&Value) -> Option<f64>| {
        let there: Vec<f64> = top["date"]["names"].as_array().unwrap().iter().filter_map(of).collect();
        there.iter().sum::<f64>() / there.len() as f64
    };
    let close = |value: &Value, expected: f64| (value.as_f64().unwrap() - expected).abs() < 1e-12;
    assert_eq!(day["names"].as_u64().unwrap() as usize, top["date"]["names"].as_array().unwrap().len());
    assert!(close(&day["value"], mean(&|name| name["value"].as_f64())), "{day:#}");
    assert!(close(&day["returns"][0], mean(&|name| name["returns"][0].as_f64())), "{day:#}");
    let up = |name: &Value| name["returns"][0].as_f64().map(|earned| f64::from(u8::from(earned > 0.0)));
    assert!(close(&day["hits"][0], mean(&up)), "{day:#}");
    assert!(days.windows(2).all(|pair| pair[0]["date"].as_str() < pair[1]["date"].as_str()), "{days:#?}");
    // The last day has values, but no day to trade on yet.
    let last = trace(&["--date", "2024-03-18"]).finished();
    assert!(last["date"]["entry"].is_null() && last["date"]["names"][0]["returns"][0].is_null(), "{last:#}");
    assert_eq!(last["date"]["names"][0]["blocked"], "no trading day to enter on");

    let json = trace(&["--date", "2024-03-08", "--code", "sh600101"]).finished();
    let reading = &json["readings"][0];
    assert_eq!(json["date"]["names"].as_array().unwrap().len(), 1);
    let documents = reading["documents"].as_array().unwrap();
    let given: f64 = documents.iter().map(|document| document["contribution"].as_f64().unwrap()).sum();
    let (value, raw) = (reading["value"].as_f64().unwrap(), json["date"]["names"][0]["raw"].as_f64().unwrap());
    assert!((given - value).abs() < 1e-12 && (value - raw).abs() < 1e-12, "{given} {value} {raw}");
    let ids = texts(&reading["documents"], "doc_id");
    assert!(ids.len() == 5 && ids.contains(&"news/4-0") && ids.contains(&"news/0-0"), "{ids:?}");

    let json = trace(&["--date", "2024-03-08", "--code", "600101.SH", "--document", "news/1-0"]).finished();
    let explained = &json["sentences"][0];
    assert_eq!((explained["by"].as_str(), explained["column"].as_str()), (Some("words"), Some("tone")));
    assert!((explained["score"].as_f64().unwrap() - explained["kept"].as_f64().unwrap()).abs() < 1e-6);
    let sentences = explained["sentences"].as_array().unwrap();
    assert!(sentences[0]["title"] == true && sentences[0]["value"].as_f64().unwrap() < 0.0, "{sentences:#?}");
    let words: Vec<&str> = sentences.iter().flat_map(|sentence| texts(&sentence["words"], "word")).collect();
    assert!(words.contains(&"下滑") && words.contains(&"退市风险"), "{words:?}");

    for (flags, said) in [
        (&["--date", "2024-03-10"][..], &["no value on 2024-03-10", "the nearest before on 2024-03-08"][..]),
        (&["--date", "2024-03-08", "--quantile", "3"], &["no quantile 3", "quantiles"]),
        (&["--quantile", "0"], &["no quantile 0", "quantiles"]),
        (&["--date", "2024-03-08", "--code", "600999"], &["600999 is not in the price table"]),
        (
            &["--date", "2024-03-08", "--code", "600101", "--document", "x"],
            &["\"x\" did not enter this value", "news/0-0"],
        ),
    ] {
        assert_says(&trace(flags).refusal(), said);
    }
    assert_says(
        &run(desk.folder(), &["trace", "heat", "--date", "2024-03-08"]).refusal(),
        &["no factor \"heat\"", "tone"],
    );
}
