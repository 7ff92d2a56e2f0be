//! The boards of the Chinese exchanges, each with its own daily price limits.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use inkstone_base::bail;
use inkstone_base::code::Code;

/// A board of the Shanghai, Shenzhen or Beijing exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Board {
    /// Main boards of Shanghai and Shenzhen.
    Main,
    /// ChiNext (创业板), Shenzhen.
    Chinext,
    /// STAR market (科创板), Shanghai.
    Star,
    Bse,
}

impl Board {
    /// The board that a canonical code tells; `None` for other markets.
    pub fn of_code(code: &Code) -> Option<Board> {
        let (digits, exchange) = code.as_str().split_once('.')?;
        if digits.len() != 6 || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        match (exchange, &digits[..2]) {
            ("SH", "68") => Some(Board::Star),
            ("SH", "60" | "90") => Some(Board::Main),
            ("SZ", "30") => Some(Board::Chinext),
            ("SZ", "00" | "20") => Some(Board::Main),
            ("BJ", _) => Some(Board::Bse),
            _ => None,
        }
    }
}

impl FromStr for Board {
    type Err = anyhow::Error;

    fn from_str(name: &str) -> anyhow::Result<Board> {
        Ok(match name {
            "main" => Board::Main,
            "chinext" => Board::Chinext,
            "star" => Board::Star,
            "bse" => Board::Bse,
            _ => bail!(
                "未知的板块 {name:?}；板块为 main、chinext、star 和 bse",
                "unknown board {name:?}; boards are main, chinext, star and bse"
            ),
        })
    }
}

impl fmt::Display for Board {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Board::Main => "main",
            Board::Chinext => "chinext",
            Board::Star => "star",
            Board::Bse => "bse",
        })
    }
}
