//! Numbers as exact rationals, and the operations on them (XPath F&O 3.1 sections 4.2 to 4.4).
//!
//! Shares nothing with what it is compared with: the engine has its own decimals and another library of
//! large integers. Rounding is by its definition: a quotient to 18 digits after the point, or 18
//! significant ones where that is finer, half to even; a floating number is the one nearest to a rational,
//! found by dividing.

use num_bigint::{BigInt, BigUint, Sign};
use num_rational::BigRational;
use num_traits::{One, Signed, ToPrimitive, Zero};
use oxrdf::Literal;
use oxrdf::vocab::xsd;
use std::cmp::Ordering;

/// Digits of an integer or a decimal at most, those after the point and zeros before them included.
const DIGITS_MAX: usize = 10_000;

/// Digits of a quotient.
const QUOTIENT_DIGITS: i64 = 18;

/// A number.
#[derive(Clone, Debug)]
pub(super) enum Number {
    Integer(BigInt),
    Decimal(BigRational),
    Float(f32),
    Double(f64),
}

/// The rational that a decimal's lexical form denotes; without a point, an integer's.
fn exact(lexical: &str) -> Option<BigRational> {
    let (is_negative, digits) = match lexical.as_bytes().first()? {
        b'-' => (true, &lexical[1..]),
        b'+' => (false, &lexical[1..]),
        _ => (false, lexical),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all = format!("{whole}{fraction}");
    if all.is_empty() || !all.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let number = BigRational::new(all.parse().ok()?, power_of_ten(fraction.len() as u64));
    Some(if is_negative { -number } else { number })
}

/// A floating number's lexical form (XML Schema 1.1 part 2, section 3.3.5.2).
fn is_floating(lexical: &str) -> bool {
    let unsigned = lexical.strip_prefix(['+', '-']).unwrap_or(lexical);
    if unsigned == "INF" || lexical == "NaN" {
        return true;
    }
    let (coefficient, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((coefficient, exponent)) => (coefficient, Some(exponent)),
        None => (unsigned, None),
    };
    let is_exponent = |text: &str| {
        let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
    };
    let starts_well = coefficient.starts_with(|first: char| first == '.' || first.is_ascii_digit());
    starts_well
        && coefficient.bytes().any(|byte| byte.is_ascii_digit())
        && coefficient.bytes().filter(|byte| *byte == b'.').count() <= 1
        && coefficient
            .bytes()
            .all(|byte| byte == b'.' || byte.is_ascii_digit())
        && exponent.is_none_or(is_exponent)
}

fn power_of_ten(exponent: u64) -> BigInt {
    BigInt::from(10).pow(u32::try_from(exponent).expect("exponents are small"))
}

fn power(exponent: i64) -> BigRational {
    let power = BigRational::from_integer(power_of_ten(exponent.unsigned_abs()));
    if exponent < 0 { power.recip() } else { power }
}

/// The integer nearest to a rational, of two the even one.
fn half_to_even(value: &BigRational) -> BigInt {
    let floor = value.floor().to_integer();
    let rest = value - BigRational::from_integer(floor.clone());
    let half = BigRational::new(1.into(), 2.into());
    let is_even = (&floor % 2_u8).is_zero();
    match rest.cmp(&half) {
        Ordering::Greater => floor + 1,
        Ordering::Equal if !is_even => floor + 1,
        _ => floor,
    }
}

/// The floating number with so many bits of mantissa, and no bit below 2^`least`, that is nearest.
fn nearest(value: &BigRational, bits: u64, least: i64) -> f64 {
    if value.is_zero() {
        return 0.0;
    }
    let (over, under) = (value.numer().abs(), value.denom());
    let two = |exponent: i64| {
        let power = BigRational::from_integer(BigInt::one() << exponent.unsigned_abs());
        if exponent < 0 { power.recip() } else { power }
    };
    // 2^exponent is at most twice the value's magnitude, and at least half of it.
    let exponent = over.bits() as i64 - under.bits() as i64;
    let mut step = (exponent - bits as i64).max(least);
    let magnitude = BigRational::new(over, under.clone());
    while (&magnitude / two(step)).to_integer().bits() > bits {
        step += 1;
    }
    let mantissa = half_to_even(&(magnitude / two(step)));
    let mantissa = mantissa.to_u64().expect("it has few bits") as f64;
    // Two steps, so that neither is out of range where the result is not.
    let (half, rest) = (step / 2, step - step / 2);
    let pow = |exponent: i64| 2_f64.powi(i32::try_from(exponent).unwrap_or(i32::MAX));
    let nearest = mantissa * pow(half) * pow(rest);
    if value.is_negative() {
        -nearest
    } else {
        nearest
    }
}

impl Number {
    /// The number of a lexical form of `xsd:integer`.
    pub(super) fn integer(lexical: &str) -> Option<Number> {
        if lexical.contains('.') {
            return None;
        }
        Number::Integer(exact(lexical)?.to_integer()).bounded()
    }

    /// The number of a lexical form of `xsd:decimal`.
    pub(super) fn decimal(lexical: &str) -> Option<Number> {
        Number::Decimal(exact(lexical)?).bounded()
    }

    /// The number of a lexical form of `xsd:float`.
    pub(super) fn float(lexical: &str) -> Option<Number> {
        is_floating(lexical).then(|| lexical.parse().ok().map(Number::Float))?
    }

    /// The number of a lexical form of `xsd:double`.
    pub(super) fn double(lexical: &str) -> Option<Number> {
        is_floating(lexical).then(|| lexical.parse().ok().map(Number::Double))?
    }

    /// The number, unless it has too many digits.
    fn bounded(self) -> Option<Number> {
        let digits = match &self {
            Number::Integer(value) => value.abs().to_string().len(),
            Number::Decimal(value) => {
                let form = decimal_form(value)?;
                let unsigned = form.trim_start_matches('-');
                let counted = unsigned.strip_prefix("0.").unwrap_or(unsigned);
                counted.bytes().filter(u8::is_ascii_digit).count()
            }
            Number::Float(_) | Number::Double(_) => 0,
        };
        (digits <= DIGITS_MAX).then_some(self)
    }

    /// Whether another library of numbers, with 64 and 128 bits, has this one.
    pub(super) fn is_small(&self) -> bool {
        match self {
            Number::Integer(value) => value.to_i64().is_some(),
            Number::Decimal(value) => {
                let units = value * BigRational::from_integer(power_of_ten(18));
                units.is_integer() && units.to_integer().to_i128().is_some()
            }
            Number::Float(_) | Number::Double(_) => true,
        }
    }

    /// Whether two of them may be equal and not the same, or the same and not equal.
    pub(super) fn is_odd(&self) -> bool {
        self.is_nan() || (self.is_zero() && matches!(self, Number::Float(_) | Number::Double(_)))
    }

    /// As a literal in canonical form.
    pub(super) fn literal(&self) -> Literal {
        match self {
            Number::Integer(value) => Literal::new_typed_literal(value.to_string(), xsd::INTEGER),
            Number::Decimal(value) => {
                let form = decimal_form(value).expect("quotients are rounded to decimals");
                Literal::new_typed_literal(form, xsd::DECIMAL)
            }
            Number::Float(value) => {
                Literal::new_typed_literal(floating_form(value, f64::from(*value)), xsd::FLOAT)
            }
            Number::Double(value) => {
                Literal::new_typed_literal(floating_form(value, *value), xsd::DOUBLE)
            }
        }
    }

    pub(super) fn is_nan(&self) -> bool {
        match self {
            Number::Float(value) => value.is_nan(),
            Number::Double(value) => value.is_nan(),
            Number::Integer(_) | Number::Decimal(_) => false,
        }
    }

    pub(super) fn is_zero(&self) -> bool {
        match self {
            Number::Integer(value) => value.is_zero(),
            Number::Decimal(value) => value.is_zero(),
            Number::Float(value) => *value == 0.0,
            Number::Double(value) => *value == 0.0,
        }
    }

    fn rank(&self) -> u8 {
        match self {
            Number::Integer(_) => 0,
            Number::Decimal(_) => 1,
            Number::Float(_) => 2,
            Number::Double(_) => 3,
        }
    }

    /// As a decimal; `None` where it is not finite.
    pub(super) fn to_rational(&self) -> Option<BigRational> {
        match self {
            Number::Integer(value) => Some(BigRational::from_integer(value.clone())),
            Number::Decimal(value) => Some(value.clone()),
            Number::Float(value) => BigRational::from_float(*value),
            Number::Double(value) => BigRational::from_float(*value),
        }
    }

    /// The nearest float.
    pub(super) fn to_float(&self) -> f32 {
        match self {
            Number::Float(value) => *value,
            Number::Double(value) => *value as f32,
            exact => nearest(&exact.to_rational().expect("it is exact"), 24, -149) as f32,
        }
    }

    /// The nearest double.
    pub(super) fn to_double(&self) -> f64 {
        match self {
            Number::Float(value) => f64::from(*value),
            Number::Double(value) => *value,
            exact => nearest(&exact.to_rational().expect("it is exact"), 53, -1074),
        }
    }

    fn raised(&self, rank: u8) -> Number {
        match rank {
            1 => Number::Decimal(self.to_rational().expect("an integer is finite")),
            2 => Number::Float(self.to_float()),
            3 => Number::Double(self.to_double()),
            _ => self.clone(),
        }
    }

    /// Both in the smallest type of integer, decimal, float, double that holds both.
    pub(super) fn promoted(left: &Number, right: &Number) -> (Number, Number) {
        let rank = left.rank().max(right.rank());
        (left.raised(rank), right.raised(rank))
    }

    /// The order; `None` with a NaN.
    pub(super) fn order(left: &Number, right: &Number) -> Option<Ordering> {
        match Number::promoted(left, right) {
            (Number::Integer(left), Number::Integer(right)) => left.partial_cmp(&right),
            (Number::Decimal(left), Number::Decimal(right)) => left.partial_cmp(&right),
            (Number::Float(left), Number::Float(right)) => left.partial_cmp(&right),
            (Number::Double(left), Number::Double(right)) => left.partial_cmp(&right),
            _ => unreachable!("promoted numbers have one type"),
        }
    }

    /// Unary minus.
    pub(super) fn negated(&self) -> Number {
        match self {
            Number::Integer(value) => Number::Integer(-value),
            Number::Decimal(value) => Number::Decimal(-value),
            Number::Float(value) => Number::Float(-value),
            Number::Double(value) => Number::Double(-value),
        }
    }

    /// `op:numeric-add`; `None` is an error, as in what follows.
    pub(super) fn plus(&self, other: &Number) -> Option<Number> {
        self.combined(
            other,
            |a, b| a + b,
            |a, b| a + b,
            |a, b| a + b,
            |a, b| a + b,
        )
    }

    /// `op:numeric-subtract`.
    pub(super) fn minus(&self, other: &Number) -> Option<Number> {
        self.combined(
            other,
            |a, b| a - b,
            |a, b| a - b,
            |a, b| a - b,
            |a, b| a - b,
        )
    }

    /// `op:numeric-multiply`.
    pub(super) fn times(&self, other: &Number) -> Option<Number> {
        self.combined(
            other,
            |a, b| a * b,
            |a, b| a * b,
            |a, b| a * b,
            |a, b| a * b,
        )
    }

    fn combined(
        &self,
        other: &Number,
        integers: fn(BigInt, BigInt) -> BigInt,
        decimals: fn(BigRational, BigRational) -> BigRational,
        floats: fn(f32, f32) -> f32,
        doubles: fn(f64, f64) -> f64,
    ) -> Option<Number> {
        match Number::promoted(self, other) {
            (Number::Integer(a), Number::Integer(b)) => Number::Integer(integers(a, b)),
            (Number::Decimal(a), Number::Decimal(b)) => Number::Decimal(decimals(a, b)),
            (Number::Float(a), Number::Float(b)) => Number::Float(floats(a, b)),
            (Number::Double(a), Number::Double(b)) => Number::Double(doubles(a, b)),
            _ => unreachable!("promoted numbers have one type"),
        }
        .bounded()
    }

    /// `op:numeric-divide`. Integers divide to a decimal; only exact numbers know a division by zero
    /// as an error.
    pub(super) fn by(&self, other: &Number) -> Option<Number> {
        let (over, under) = match Number::promoted(self, other) {
            (Number::Float(a), Number::Float(b)) => return Some(Number::Float(a / b)),
            (Number::Double(a), Number::Double(b)) => return Some(Number::Double(a / b)),
            (a, b) => (a.to_rational()?, b.to_rational()?),
        };
        if under.is_zero() {
            return None;
        }
        Number::Decimal(rounded(&(over / under))).bounded()
    }

    /// `fn:abs`.
    pub(super) fn magnitude(&self) -> Number {
        match self {
            Number::Integer(value) => Number::Integer(value.abs()),
            Number::Decimal(value) => Number::Decimal(value.abs()),
            Number::Float(value) => Number::Float(value.abs()),
            Number::Double(value) => Number::Double(value.abs()),
        }
    }

    /// `fn:floor`.
    pub(super) fn floor(&self) -> Number {
        match self {
            Number::Decimal(value) => Number::Decimal(value.floor()),
            Number::Float(value) => Number::Float(value.floor()),
            Number::Double(value) => Number::Double(value.floor()),
            integer @ Number::Integer(_) => integer.clone(),
        }
    }

    /// `fn:ceiling`.
    pub(super) fn ceiling(&self) -> Number {
        match self {
            Number::Decimal(value) => Number::Decimal(value.ceil()),
            Number::Float(value) => Number::Float(value.ceil()),
            Number::Double(value) => Number::Double(value.ceil()),
            integer @ Number::Integer(_) => integer.clone(),
        }
    }

    /// `fn:round`: the nearest integer, of two the greater; what is rounded to zero keeps its sign.
    pub(super) fn rounded(&self) -> Number {
        let nearest = |value: f64| {
            let Some(exact) = BigRational::from_float(value) else {
                return value;
            };
            let half = BigRational::new(1.into(), 2.into());
            let whole = BigRational::from_integer((exact + half).floor().to_integer());
            Number::Decimal(whole).to_double().copysign(value)
        };
        match self {
            Number::Decimal(value) => {
                let half = BigRational::new(1.into(), 2.into());
                Number::Decimal((value + half).floor())
            }
            Number::Float(value) => Number::Float(nearest(f64::from(*value)) as f32),
            Number::Double(value) => Number::Double(nearest(*value)),
            integer @ Number::Integer(_) => integer.clone(),
        }
    }

    /// The constructor of `xsd:integer`.
    pub(super) fn truncated(&self) -> Option<Number> {
        Number::Integer(self.to_rational()?.trunc().to_integer()).bounded()
    }
}

/// A quotient as it is kept.
fn rounded(quotient: &BigRational) -> BigRational {
    if quotient.is_zero() {
        return BigRational::zero();
    }
    // The power of ten of the first digit.
    let magnitude = quotient.abs();
    let mut first = 0_i64;
    while magnitude >= power(first + 1) {
        first += 1;
    }
    while magnitude < power(first) {
        first -= 1;
    }
    let digits = QUOTIENT_DIGITS.max(QUOTIENT_DIGITS - 1 - first);
    let scaled = half_to_even(&(quotient * power(digits)));
    BigRational::from_integer(scaled) * power(-digits)
}

/// The canonical form of a decimal; `None` of what is none.
fn decimal_form(value: &BigRational) -> Option<String> {
    let mut rest = value.denom().clone();
    let mut digits = 0_u64;
    while !rest.is_one() {
        let factor = [10_u8, 2, 5]
            .into_iter()
            .find(|factor| (&rest % *factor).is_zero())?;
        rest /= factor;
        digits += 1;
    }
    let scaled = (value * BigRational::from_integer(power_of_ten(digits))).to_integer();
    let (sign, magnitude): (Sign, BigUint) = scaled.into_parts();
    let sign = if sign == Sign::Minus { "-" } else { "" };
    let digits = usize::try_from(digits).ok()?;
    let text = format!(
        "{magnitude:0>width$}",
        magnitude = magnitude.to_string(),
        width = digits + 1
    );
    let (whole, fraction) = text.split_at(text.len() - digits);
    let fraction = fraction.trim_end_matches('0');
    let point = if fraction.is_empty() { "" } else { "." };
    Some(format!("{sign}{whole}{point}{fraction}"))
}

fn floating_form(value: &impl ToString, wide: f64) -> String {
    if wide == f64::INFINITY {
        "INF".to_owned()
    } else if wide == f64::NEG_INFINITY {
        "-INF".to_owned()
    } else {
        value.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(lexical: &str) -> Number {
        Number::decimal(lexical).unwrap()
    }

    #[test]
    fn nearest_is_what_the_standard_library_reads() {
        for text in [
            "0.1",
            "995675286560.4821237",
            "9007199254740993",
            "-1.5",
            "16777217",
            "0.000000000000000000000000000000000000000000001",
            "123456789012345678901234567890",
        ] {
            let number = decimal(text);
            let (wide, narrow): (f64, f32) = (text.parse().unwrap(), text.parse().unwrap());
            assert_eq!(number.to_double().to_bits(), wide.to_bits(), "{text}");
            assert_eq!(number.to_float().to_bits(), narrow.to_bits(), "{text}");
        }
        for double in [
            f64::MIN_POSITIVE,
            5e-324,
            f64::MAX,
            2.225_073_858_507_201e-308,
            1e-320,
        ] {
            let exact = Number::Decimal(BigRational::from_float(double).unwrap());
            assert_eq!(exact.to_double().to_bits(), double.to_bits());
        }
    }

    #[test]
    fn quotients_are_rounded_by_definition() {
        let by = |left: &str, right: &str| {
            let quotient = decimal(left).by(&decimal(right)).unwrap();
            quotient.literal().value().to_owned()
        };
        assert_eq!(by("1", "3"), "0.333333333333333333");
        assert_eq!(by("1", "30"), "0.0333333333333333333");
        assert_eq!(by("-1.000000000000000003", "2"), "-0.500000000000000002");
        assert!(decimal("1").by(&decimal("0.0")).is_none());
    }

    #[test]
    fn forms_are_canonical() {
        for (lexical, canonical) in [
            ("-0.0", "0"),
            ("1.50", "1.5"),
            ("-.05", "-0.05"),
            ("100", "100"),
        ] {
            assert_eq!(decimal(lexical).literal().value(), canonical);
        }
        for none in ["", ".", "+", "1e5", "1.5.5", "--1", "0x1"] {
            assert!(Number::decimal(none).is_none(), "{none}");
        }
        for floating in ["1", "1.", ".5", "-1.5E+10", "INF", "-INF", "+INF", "NaN"] {
            assert!(is_floating(floating), "{floating}");
        }
        for none in [
            "", ".", "e5", "1e", "inf", "-NaN", "infinity", "1.5.5", "+-1", "1e5.0",
        ] {
            assert!(!is_floating(none), "{none}");
        }
    }
}
