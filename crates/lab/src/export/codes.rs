//! Writing a canonical code in the style of another tool.

use serde::{Deserialize, Serialize};

use inkstone_base::code::Code;

/// A way to write security codes. A code of no mainland exchange (`AAPL`) stays as it is in every style.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CodeStyle {
    /// `600000.SH`: Wind, Tushare.
    #[default]
    Canonical,
    /// `SH600000`: Qlib, Xueqiu.
    Qlib,
    /// `600000.XSHG`: JoinQuant, RiceQuant.
    JoinQuant,
    /// `sh.600000`: BaoStock.
    BaoStock,
    /// `600000.SS`: Yahoo.
    Yahoo,
}

impl CodeStyle {
    /// The code in this style.
    pub fn write(self, code: &Code) -> String {
        let text = code.as_str();
        let Some((number, exchange @ ("SH" | "SZ" | "BJ"))) = text.rsplit_once('.') else {
            return text.to_owned();
        };
        match self {
            CodeStyle::Canonical => text.to_owned(),
            CodeStyle::Qlib => format!("{exchange}{number}"),
            CodeStyle::BaoStock => format!("{}.{number}", exchange.to_lowercase()),
            CodeStyle::JoinQuant => match exchange {
                "SH" => format!("{number}.XSHG"),
                "SZ" => format!("{number}.XSHE"),
                _ => text.to_owned(),
            },
            CodeStyle::Yahoo => match exchange {
                "SH" => format!("{number}.SS"),
                _ => text.to_owned(),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_style_writes_each_exchange() {
        use CodeStyle::{BaoStock, Canonical, JoinQuant, Qlib, Yahoo};
        let expected = [
            ("600000.SH", ["600000.SH", "SH600000", "600000.XSHG", "sh.600000", "600000.SS"]),
            ("000001.SZ", ["000001.SZ", "SZ000001", "000001.XSHE", "sz.000001", "000001.SZ"]),
            ("430047.BJ", ["430047.BJ", "BJ430047", "430047.BJ", "bj.430047", "430047.BJ"]),
            ("AAPL", ["AAPL"; 5]),
            ("BRK.B", ["BRK.B"; 5]),
        ];
        for (code, written) in expected {
            let styles = [Canonical, Qlib, JoinQuant, BaoStock, Yahoo];
            assert_eq!(styles.map(|s| s.write(&Code::canonical(code))), written);
        }
    }
}
