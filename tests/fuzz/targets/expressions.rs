//! The language of factors: what is read shows itself as it was written, and names what it reads.

use inkstone_lab::factor::{Expression, Params, Plan};

pub(super) fn check(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(expression) = text.parse::<Expression>() else { return };
    assert!(expression.to_string() == text || text.trim().is_empty());
    let features: Vec<String> = expression.features().into_iter().map(|(name, _)| name.to_owned()).collect();
    let params = Params { name: "f".into(), expression, ..Params::default() };
    if let Ok(plan) = Plan::new(&params) {
        assert!(plan.features().iter().all(|name| features.contains(name)));
        plan.readings();
    }
}
