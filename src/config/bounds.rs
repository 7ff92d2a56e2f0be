//! The numbers of a configuration that lie outside their bounds.

use toml::Value;

use super::check::Problem;
use inkstone_base::bounds::refusals;

pub use inkstone_base::bounds::{bound_of, flag};

/// Every number of a value, of a section or of a whole configuration, that lies outside its bound.
pub(super) fn problems(path: &str, value: &Value) -> Vec<Problem> {
    refusals(path, value).into_iter().map(|(path, message)| Problem::new(path, message)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::outline::{example, settings};
    use crate::config::{Config, Hook, TEMPLATE, edit};
    use inkstone_base::bounds::BOUNDS;
    use inkstone_corpus::event::EventRule;
    use inkstone_features::experiment;
    use inkstone_features::extract::Feature;
    use inkstone_features::rewrite::Rewrite;
    use inkstone_lab::factor;

    /// The key paths of all numbers of a value, without the numbers of lists.
    fn numbers(path: &str, value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Integer(_) | Value::Float(_) => found.push(path.to_owned()),
            Value::Array(items) => items.iter().for_each(|item| numbers(path, item, found)),
            Value::Table(table) => table.iter().for_each(|(key, value)| {
                numbers(&if path.is_empty() { key.clone() } else { format!("{path}.{key}") }, value, found);
            }),
            _ => {}
        }
    }

    /// The template with every example in effect.
    fn full() -> String {
        TEMPLATE.lines().map(|line| line.strip_prefix("#: ").unwrap_or(line)).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn every_number_of_a_configuration_has_a_bound_and_every_bound_a_number() {
        let config = Config {
            rewrite: vec![Rewrite::default()],
            event: vec![EventRule::default()],
            feature: vec![Feature::default()],
            factor: vec![factor::Params::default()],
            on: vec![Hook::default()],
            experiment: vec![experiment::Params::default()],
            ..Config::default()
        };
        let mut keys = Vec::new();
        numbers("", &Value::try_from(&config).unwrap(), &mut keys);
        numbers("", &toml::from_str(&full()).unwrap(), &mut keys);
        keys.sort();
        keys.dedup();
        let without: Vec<&String> = keys.iter().filter(|key| bound_of(key).is_none()).collect();
        assert!(without.is_empty(), "no bound for {without:?}");
        for bound in BOUNDS.iter().filter(|bound| !bound.key.starts_with("--") && !bound.key.ends_with(".*")) {
            // Lists that are empty by default have no number in them.
            assert!(keys.iter().any(|key| key == bound.key) || bound.key.contains(".tune."), "{} is no key", bound.key);
            assert!(bound.least < bound.most, "{}", bound.key);
        }
        assert!(keys.len() > 130, "{}", keys.len());
        let mut names: Vec<&str> = BOUNDS.iter().map(|bound| bound.key).collect();
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "a key has one bound");
    }

    #[test]
    fn a_number_out_of_bounds_is_refused_with_its_bound() {
        let faults = Config::faults(
            "[[feature]]\nname = \"a\"\nmodel = \"surprise\"\n[feature.surprise]\nwindow_days = 4000000000\n",
        );
        assert_eq!((faults.len(), faults[0].line), (1, 5), "{faults:?}");
        assert_eq!(faults[0].message, "4000000000 is out of bounds; write one from 1 to 36500");
        // Also one that the key's type cannot hold, and one that is no number.
        for (value, least) in [("-1", "-1 is out of bounds"), ("99999999999999", "99999999999999 is out of")] {
            let faults = Config::faults(&format!("[clean]\nwindow_days = {value}\n"));
            assert_eq!(faults.len(), 1);
            assert!(faults[0].message.starts_with(least), "{faults:?}");
        }
        for value in ["nan", "inf", "-inf"] {
            let faults = Config::faults(&format!("[backtest]\nopen_bps = {value}\n"));
            assert!(faults[0].message.contains("is not a finite number; write one from 0 to 10000"), "{faults:?}");
        }
        let faults = Config::faults("[backtest]\nhorizons = [1, 9000000]\n");
        assert_eq!((faults[0].path.as_str(), faults.len()), ("backtest.horizons[1]", 1));
        let mut config = Config::default();
        config.backtest.open_bps = f64::NAN;
        assert!(config.check().unwrap_err().to_string().contains("backtest.open_bps: NaN is not a finite number"));
    }

    #[test]
    fn every_number_is_refused_or_within_its_bound_whatever_is_written() {
        let values = [
            "0",
            "-1",
            "1",
            "255",
            "65536",
            "4294967295",
            "4294967296",
            "9223372036854775807",
            "-9223372036854775808",
            "1e308",
            "-1e308",
            "5e-324",
            "nan",
            "inf",
            "-inf",
        ];
        let source = "[[source]]\nname = \"a\"\npath = \"a.csv\"\n";
        let mut tried = 0;
        for setting in settings() {
            let path = match setting.repeated {
                true => format!("{}[0].{}", setting.section, setting.key),
                false => format!("{}.{}", setting.section, setting.key),
            };
            let Some(bound) = bound_of(&path) else { continue };
            let base = if setting.repeated {
                example(&setting.section, &[]).unwrap_or(source.to_owned())
            } else {
                String::new()
            };
            let written = setting.default.as_deref().or(setting.example.as_deref()).unwrap_or_default();
            for value in values {
                let value = match written.matches('[').count() {
                    0 => value.to_owned(),
                    _ if written.starts_with("[[") => format!("[[{value}, {value}]]"),
                    _ => format!("[{value}, {value}]"),
                };
                let text = edit::set(&base, &path, &value).unwrap();
                let number = value.trim_matches(['[', ']']).split(',').next().unwrap().parse::<f64>().unwrap();
                match Config::parse("w", &text) {
                    Err(error) => {
                        let error = error.to_string();
                        let named = error.contains(&format!("write one from {bound}"));
                        let inside = (bound.least..=bound.most).contains(&number);
                        // Within the bounds a rule between keys, or a whole number that is asked for, may refuse it still.
                        assert!(named != inside, "{path} = {value}: {error}");
                    }
                    Ok(_) => assert!((bound.least..=bound.most).contains(&number), "{path} = {value} was taken"),
                }
                tried += 1;
            }
        }
        assert!(tried > 1_800, "{tried}");
    }

    #[test]
    fn flags_have_the_bounds_of_their_keys() {
        let days = flag::<u32>("experiment.label_days");
        assert_eq!(days("36500"), Ok(36_500));
        assert_eq!(days("36501"), Err("36501 is out of bounds; write one from 0 to 36500".to_owned()));
        assert!(days("-1").unwrap_err().contains("0 to 36500") && days("x").is_err());
        assert!(flag::<f64>("backtest.open_bps")("nan").is_err() && flag::<f64>("backtest.open_bps")("1e308").is_err());
    }
}
