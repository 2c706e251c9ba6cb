//! Quality values (RFC 9110 section 12.4.2), as `Accept` and `Accept-Encoding` have them.
//!
//! Formats are negotiated in a request and codings in a response; both weigh what the client lists by this number, so
//! it stands below both.

/// A quality value, `0` to `1` with up to three decimals, in thousandths.
pub(crate) fn thousandths(text: &str) -> Option<u16> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    if decimals.len() > 3 || !decimals.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let fraction: u16 = format!("{decimals:0<3}").parse().ok()?;
    match (whole, fraction) {
        ("", _) if text.is_empty() => Some(1000),
        ("0" | "", fraction) => Some(fraction),
        ("1", 0) => Some(1000),
        _ => None,
    }
}
