//! Numbers that may be NaN, which JSON writes as null.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Structs whose fields of type `f64`, `Vec<f64>` and `Vec<Vec<f64>>` are read from JSON with NaN for null.
macro_rules! nan_as_null {
    ($($(#[$meta:meta])* $vis:vis struct $name:ident { $($fields:tt)* })*) => {
        $(nan_as_null! { @ [$(#[$meta])* $vis struct $name] [] $($fields)* })*
    };
    (@ [$($head:tt)*] [$($read:tt)*]) => {
        $($head)* { $($read)* }
    };
    (@ $head:tt [$($read:tt)*] $(#[$meta:meta])* $vis:vis $field:ident: f64, $($rest:tt)*) => {
        nan_as_null! {
            @ $head [$($read)* $(#[$meta])* #[serde(deserialize_with = "crate::nan::number")] $vis $field: f64,] $($rest)*
        }
    };
    (@ $head:tt [$($read:tt)*] $(#[$meta:meta])* $vis:vis $field:ident: Vec<f64>, $($rest:tt)*) => {
        nan_as_null! {
            @ $head [$($read)* $(#[$meta])* #[serde(deserialize_with = "crate::nan::list")] $vis $field: Vec<f64>,] $($rest)*
        }
    };
    (@ $head:tt [$($read:tt)*] $(#[$meta:meta])* $vis:vis $field:ident: Vec<Vec<f64>>, $($rest:tt)*) => {
        nan_as_null! {
            @ $head [$($read)* $(#[$meta])* #[serde(deserialize_with = "crate::nan::rows")] $vis $field: Vec<Vec<f64>>,]
            $($rest)*
        }
    };
    (@ $head:tt [$($read:tt)*] $(#[$meta:meta])* $vis:vis $field:ident: $type:ty, $($rest:tt)*) => {
        nan_as_null! { @ $head [$($read)* $(#[$meta])* $vis $field: $type,] $($rest)* }
    };
}

pub(crate) fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Ok(Option::<f64>::deserialize(deserializer)?.unwrap_or(f64::NAN))
}

pub(crate) fn list<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<f64>, D::Error> {
    Ok(Vec::<Option<f64>>::deserialize(deserializer)?.into_iter().map(|v| v.unwrap_or(f64::NAN)).collect())
}

pub(crate) fn rows<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Vec<f64>>, D::Error> {
    let rows = Vec::<Vec<Option<f64>>>::deserialize(deserializer)?;
    Ok(rows.into_iter().map(|row| row.into_iter().map(|v| v.unwrap_or(f64::NAN)).collect()).collect())
}

/// Writes null where there is no number.
pub(crate) fn null_number<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    value.is_finite().then_some(*value).serialize(serializer)
}

pub(crate) fn null_numbers<S: Serializer>(values: &[f64], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(values.iter().map(|value| value.is_finite().then_some(*value)))
}

#[cfg(test)]
mod tests {
    use serde::{Deserialize, Serialize};

    nan_as_null! {
        #[derive(Serialize, Deserialize)]
        struct Figures {
            /// A documented number.
            mean: f64,
            days: Vec<f64>,
            layers: Vec<Vec<f64>>,
            name: String,
            #[serde(alias = "old")]
            share: f64,
        }
    }

    #[test]
    fn null_is_read_as_nan_and_written_as_null() {
        let json = r#"{"mean":null,"days":[1.0,null],"layers":[[null],[2.0]],"name":"a","share":0.5}"#;
        let read: Figures = serde_json::from_str(json).unwrap();
        assert!(read.mean.is_nan() && read.days[1].is_nan() && read.layers[0][0].is_nan() && read.share == 0.5);
        assert_eq!(serde_json::to_string(&read).unwrap(), json);
        assert!(
            serde_json::from_str::<Figures>(&json.replace("\"mean\":null,", "")).is_err(),
            "a number that is absent is a fault"
        );
        assert!(serde_json::from_str::<Figures>(&json.replace("share", "old")).is_ok());
    }
}
