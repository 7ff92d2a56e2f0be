//! Runs that repeat every evening: sources that programs fill, programs that are told, and history that stays.

use std::fs;

use serde_json::Value;

use crate::places::{Place, json_of};
