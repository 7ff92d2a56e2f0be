use super::Params;
/// x
pub fn normalise(text: &str, _: &Params) -> String {
    text.to_owned()
}
/// x
pub fn normalise_line(text: &str, _: &Params) -> String {
    text.to_owned()
}
