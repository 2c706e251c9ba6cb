//! Inline integers, decimals and doubles.
//!
//! Doubles are kept as they were *written*, not as IEEE bits: the same value is written "1.5",
//! "1.50", "1.5E0" or "1.5e0" depending on who exported the data, and only the written form comes
//! back exactly. Three forms are inline, which together cover what exporters write: plain notation
//! (Rust, Python, most CSV converters), the canonical form of XML Schema 1.0 with `E` (Jena,
//! Virtuoso, SPARQL engines) and the same with `e` (Turtle shorthands). Everything else ("1e6",
//! "1.50E0", more than 15 or 16 digits) goes to the dictionary.
//!
//! ```text
//!  59 58   57
//! +-----+------+-------------------------+-------------------------------+
//! |  0  | sign | scale, 4 bits           | mantissa, 53 bits             |  plain: 1.50
//! |  1  | sign | exponent + 64, 7 bits   | digits, 50 bits               |  1.5E0
//! |  2  | sign | exponent + 64, 7 bits   | digits, 50 bits               |  1.5e0
//! |  3  |                        0 NaN, 1 INF, 2 -INF                    |
//! +-----+----------------------------------------------------------------+
//! ```
//!
//! In the exponent forms the digits are those of the coefficient without trailing zeros; the point
//! stands after the first. Where mantissa and power of ten are both exact doubles, the value is one
//! multiplication or division, correctly rounded (Clinger 1990); else the text is parsed.

use super::Text;
use crate::id::VertexId;
use oxsdatatypes::Decimal;

const INTEGER_BIAS: i64 = 1 << 59;

/// Scale bits of a decimal, below its mantissa.
const DECIMAL_SCALE_BITS: u32 = 4;
const DECIMAL_BIAS: i64 = 1 << 55;
const SCALE_MAX: u64 = 15;

const FORM_SHIFT: u32 = 58;
const SIGN_BIT: u64 = 1 << 57;
const PLAIN: u64 = 0;
const UPPER: u64 = 1;
const LOWER: u64 = 2;
const SPECIAL: u64 = 3;
const SPECIALS: [&str; 3] = ["NaN", "INF", "-INF"];

const PLAIN_MANTISSA_BITS: u32 = 53;
const DIGITS_BITS: u32 = 50;
const EXPONENT_BIAS: i64 = 64;

const _: () = assert!(
    2 * INTEGER_BIAS as u64 - 1 == VertexId::PAYLOAD_MAX,
    "integers fill the payload"
);
const _: () = assert!(
    ((2 * DECIMAL_BIAS as u64) << DECIMAL_SCALE_BITS) - 1 == VertexId::PAYLOAD_MAX
        && SCALE_MAX == (1 << DECIMAL_SCALE_BITS) - 1,
    "mantissa and scale of a decimal fill the payload"
);
const _: () = assert!(
    SIGN_BIT << 1 == 1 << FORM_SHIFT && SPECIAL << FORM_SHIFT <= VertexId::PAYLOAD_MAX,
    "form and sign of a double lie above its digits"
);
const _: () = assert!(
    SCALE_MAX << PLAIN_MANTISSA_BITS < SIGN_BIT
        && (2 * EXPONENT_BIAS as u64 - 1) << DIGITS_BITS < SIGN_BIT,
    "scale and exponent of a double lie below its sign"
);

pub(super) fn encode_integer(lexical: &[u8]) -> Option<u64> {
    let (negative, digits) = split_sign(lexical);
    if digits.len() > 18 || !is_canonical_unsigned(digits) || (negative && digits == b"0") {
        return None;
    }
    let magnitude = i64::try_from(parse_digits(digits)?).ok()?;
    integer_payload(if negative { -magnitude } else { magnitude })
}

pub(super) fn integer_payload(value: i64) -> Option<u64> {
    (-INTEGER_BIAS..INTEGER_BIAS)
        .contains(&value)
        .then(|| (value + INTEGER_BIAS) as u64)
}

pub(super) fn integer(payload: u64) -> i64 {
    payload as i64 - INTEGER_BIAS
}

pub(super) fn encode_decimal(lexical: &[u8]) -> Option<u64> {
    let plain = Plain::parse(lexical)?;
    if plain.negative && plain.mantissa == 0 {
        return None;
    }
    let magnitude = i64::try_from(plain.mantissa).ok()?;
    let value = if plain.negative {
        -magnitude
    } else {
        magnitude
    };
    if !(-DECIMAL_BIAS..DECIMAL_BIAS).contains(&value) {
        return None;
    }
    Some(((value + DECIMAL_BIAS) as u64) << DECIMAL_SCALE_BITS | plain.scale)
}

fn decimal_parts(payload: u64) -> (i64, u64) {
    let scale = payload & SCALE_MAX;
    ((payload >> DECIMAL_SCALE_BITS) as i64 - DECIMAL_BIAS, scale)
}

pub(super) fn decimal(payload: u64) -> Option<Decimal> {
    let (mantissa, scale) = decimal_parts(payload);
    Decimal::new(i128::from(mantissa), scale as u32).ok()
}

/// Every payload is a decimal's, so this never fails; the option is for uniformity.
#[expect(clippy::unnecessary_wraps, reason = "one shape for all kinds")]
pub(super) fn write_decimal(payload: u64, text: &mut Text) -> Option<()> {
    let (mantissa, scale) = decimal_parts(payload);
    write_plain(mantissa < 0, mantissa.unsigned_abs(), scale, text);
    Some(())
}

pub(super) fn encode_double(lexical: &[u8]) -> Option<u64> {
    if let Some(special) = SPECIALS
        .iter()
        .position(|special| special.as_bytes() == lexical)
    {
        return Some(SPECIAL << FORM_SHIFT | special as u64);
    }
    if let Some(place) = lexical.iter().position(|byte| matches!(byte, b'E' | b'e')) {
        let form = if lexical[place] == b'E' { UPPER } else { LOWER };
        return encode_scientific(form, &lexical[..place], &lexical[place + 1..]);
    }
    let plain = Plain::parse(lexical)?;
    if plain.mantissa >> PLAIN_MANTISSA_BITS != 0 {
        return None;
    }
    let sign = if plain.negative { SIGN_BIT } else { 0 };
    Some(PLAIN << FORM_SHIFT | sign | plain.scale << PLAIN_MANTISSA_BITS | plain.mantissa)
}

fn encode_scientific(form: u64, coefficient: &[u8], exponent: &[u8]) -> Option<u64> {
    let plain = Plain::parse(coefficient)?;
    let (_, digits) = split_sign(coefficient);
    if digits.len() < 3 || digits[1] != b'.' {
        return None;
    }
    let mut mantissa = plain.mantissa;
    if plain.scale == 1 && mantissa.is_multiple_of(10) {
        mantissa /= 10;
    } else if mantissa.is_multiple_of(10) || digits[0] == b'0' {
        return None;
    }
    let exponent = parse_exponent(exponent)?;
    if mantissa >> DIGITS_BITS != 0 || (mantissa == 0 && exponent != 0) {
        return None;
    }
    let sign = if plain.negative { SIGN_BIT } else { 0 };
    let biased = (exponent + EXPONENT_BIAS) as u64;
    Some(form << FORM_SHIFT | sign | biased << DIGITS_BITS | mantissa)
}

fn parse_exponent(text: &[u8]) -> Option<i64> {
    let (negative, digits) = split_sign(text);
    if digits.len() > 2 || !is_canonical_unsigned(digits) || (negative && digits == b"0") {
        return None;
    }
    let magnitude = parse_digits(digits)? as i64;
    let exponent = if negative { -magnitude } else { magnitude };
    (-EXPONENT_BIAS..EXPONENT_BIAS)
        .contains(&exponent)
        .then_some(exponent)
}

/// A double's payload taken apart; `None` where [`encode_double`] gives no such payload.
enum DoubleParts {
    Special(usize),
    Plain {
        negative: bool,
        mantissa: u64,
        scale: u64,
    },
    /// `digits` has `count` digits, the point stands after the first.
    Scientific {
        negative: bool,
        digits: u64,
        count: u32,
        exponent: i64,
        letter: u8,
    },
}

fn double_parts(payload: u64) -> Option<DoubleParts> {
    let negative = payload & SIGN_BIT != 0;
    let form = payload >> FORM_SHIFT;
    match form {
        PLAIN => {
            let mantissa = payload & ((1 << PLAIN_MANTISSA_BITS) - 1);
            let scale = payload >> PLAIN_MANTISSA_BITS & SCALE_MAX;
            Some(DoubleParts::Plain {
                negative,
                mantissa,
                scale,
            })
        }
        SPECIAL => {
            let special = (payload & !(SPECIAL << FORM_SHIFT)) as usize;
            (special < SPECIALS.len()).then_some(DoubleParts::Special(special))
        }
        _ => {
            let digits = payload & ((1 << DIGITS_BITS) - 1);
            let exponent = (payload >> DIGITS_BITS & 127) as i64 - EXPONENT_BIAS;
            let is_canonical = if digits == 0 {
                exponent == 0
            } else {
                digits < 10 || !digits.is_multiple_of(10)
            };
            let letter = if form == UPPER { b'E' } else { b'e' };
            let count = digits.checked_ilog10().map_or(1, |log| log + 1);
            let parts = DoubleParts::Scientific {
                negative,
                digits,
                count,
                exponent,
                letter,
            };
            is_canonical.then_some(parts)
        }
    }
}

pub(super) fn write_double(payload: u64, text: &mut Text) -> Option<()> {
    match double_parts(payload)? {
        DoubleParts::Special(special) => text.push_str(SPECIALS[special]),
        DoubleParts::Plain {
            negative,
            mantissa,
            scale,
        } => {
            write_plain(negative, mantissa, scale, text);
        }
        DoubleParts::Scientific {
            negative,
            digits,
            count,
            exponent,
            letter,
        } => {
            let (mantissa, scale) = if count == 1 {
                (digits * 10, 1)
            } else {
                (digits, u64::from(count) - 1)
            };
            write_plain(negative, mantissa, scale, text);
            text.push(letter);
            text.signed(exponent);
        }
    }
    Some(())
}

pub(super) fn double(payload: u64) -> Option<f64> {
    let (negative, mantissa, power) = match double_parts(payload)? {
        DoubleParts::Special(special) => {
            return Some([f64::NAN, f64::INFINITY, -f64::INFINITY][special]);
        }
        DoubleParts::Plain {
            negative,
            mantissa,
            scale,
        } => (negative, mantissa, -(scale as i64)),
        DoubleParts::Scientific {
            negative,
            digits,
            count,
            exponent,
            ..
        } => (negative, digits, exponent - i64::from(count) + 1),
    };
    if power.unsigned_abs() > 22 {
        let mut text = Text::new();
        write_double(payload, &mut text)?;
        return text.as_str().parse().ok();
    }
    // Exact: the mantissa is below 2^53 and powers of ten up to 10^22 are doubles.
    let scale = POWERS_OF_TEN[power.unsigned_abs() as usize];
    let magnitude = if power < 0 {
        mantissa as f64 / scale
    } else {
        mantissa as f64 * scale
    };
    Some(if negative { -magnitude } else { magnitude })
}

const POWERS_OF_TEN: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];

/// A number in plain notation that its parts give back exactly: optional minus, no superfluous
/// leading zero, and decimals after the point if there is one.
struct Plain {
    negative: bool,
    mantissa: u64,
    /// Number of decimals; 0 means that there is no point.
    scale: u64,
}

impl Plain {
    fn parse(lexical: &[u8]) -> Option<Plain> {
        let (negative, digits) = split_sign(lexical);
        if digits.len() > 18 {
            return None;
        }
        let Some(point) = digits.iter().position(|&byte| byte == b'.') else {
            let mantissa = is_canonical_unsigned(digits).then(|| parse_digits(digits))??;
            return Some(Plain {
                negative,
                mantissa,
                scale: 0,
            });
        };
        let (whole, decimals) = (&digits[..point], &digits[point + 1..]);
        let scale = decimals.len() as u64;
        if scale == 0 || scale > SCALE_MAX || !is_canonical_unsigned(whole) {
            return None;
        }
        let mantissa = parse_digits(whole)? * 10_u64.pow(scale as u32) + parse_digits(decimals)?;
        Some(Plain {
            negative,
            mantissa,
            scale,
        })
    }
}

fn write_plain(negative: bool, mantissa: u64, scale: u64, text: &mut Text) {
    if negative {
        text.push(b'-');
    }
    let power = 10_u64.pow(scale as u32);
    text.unsigned(mantissa / power, 1);
    if scale > 0 {
        text.push(b'.');
        text.unsigned(mantissa % power, scale as usize);
    }
}

fn split_sign(lexical: &[u8]) -> (bool, &[u8]) {
    match lexical {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    }
}

/// Not empty and without a superfluous leading zero; the digits themselves are checked on parsing.
fn is_canonical_unsigned(digits: &[u8]) -> bool {
    matches!(digits, [b'0'] | [b'1'..=b'9', ..])
}

/// The value of up to 18 digits.
fn parse_digits(digits: &[u8]) -> Option<u64> {
    digits.iter().try_fold(0_u64, |value, &digit| {
        digit
            .is_ascii_digit()
            .then(|| value * 10 + u64::from(digit - b'0'))
    })
}
