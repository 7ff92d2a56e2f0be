//! Parameters of models, each with its default and its flag in one place.

/// Declares a struct of parameters with its defaults, its form in files (serde) and, with the feature `clap`, its flags.
///
/// After the default of a field comes its flag, whose help is the field's documentation: `number("N", "feature.glove.dim")` takes a
/// number within the bound of that key, `choice()` a variant; both take further attributes of clap. `arg(...)` is clap's own attribute,
/// such as `arg(long)` for a `bool`, or `arg(skip = ...)` for a field without a flag; `command(flatten)` takes the flags of the field.
macro_rules! params {
    (
        $(#[$attr:meta])*
        pub struct $params:ident {
            $(
                $(#[$doc:meta])*
                $field:ident: $type:ty = $default:expr
                $(, number($value:literal, $bound:literal $(, $($number:tt)+)?))?
                $(, choice($($choice:tt)*))?
                $(, arg($($arg:tt)+))?
                $(, command($($command:tt)+))?
                ;
            )*
        }
    ) => {
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
        #[cfg_attr(feature = "clap", derive(clap::Args))]
        #[serde(default)]
        $(#[$attr])*
        pub struct $params {
            $(
                $(#[$doc])*
                $(#[cfg_attr(feature = "clap", arg(
                    long,
                    value_name = $value,
                    default_value_t = $default,
                    value_parser = inkstone_base::bounds::flag::<$type>($bound)
                    $(, $($number)+)?
                ))])?
                $(#[cfg_attr(feature = "clap", arg(long, value_enum, default_value_t = $default, $($choice)*))])?
                $(#[cfg_attr(feature = "clap", arg($($arg)+))])?
                $(#[cfg_attr(feature = "clap", command($($command)+))])?
                pub $field: $type,
            )*
        }

        impl Default for $params {
            fn default() -> $params {
                $params { $($field: $default),* }
            }
        }
    };
}

/// Declares a struct of parameters that has no flags, with its defaults and its form in files.
macro_rules! defaults {
    (
        $(#[$attr:meta])*
        pub struct $params:ident {
            $($(#[$doc:meta])* $field:ident: $type:ty = $default:expr,)*
        }
    ) => {
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(default)]
        $(#[$attr])*
        pub struct $params {
            $($(#[$doc])* pub $field: $type,)*
        }

        impl Default for $params {
            fn default() -> $params {
                $params { $($field: $default),* }
            }
        }
    };
}
