//! Integers and decimals of any length, exact: what [`super::fixed::Fixed`] and 64 bits do not hold.
//!
//! A [`Large`] is an integer and a scale, unscaled x 10^-scale. It lives for one operation: between two
//! it is text in the batch's arena ([`super::value::Value::Large`]), which draws on the budget, so a value
//! stays a few words that are copied freely. A number has at most [`DIGITS_MAX`] digits; a result with
//! more is an overflow, which is an error (XPath F&O 3.1 section 4.2, FOAR0002), and a literal with more
//! is a term without a value.
//!
//! `+`, `-` and `*` are exact. A quotient is rounded half to even at the 18th digit after the point, or
//! the 18th significant one where that is finer: as exact as the fast path where that is exact, and never
//! less exact than 18 digits.
//!
//! Cost: an operation reads both texts and writes one, some 100 ns for 30 digits, and 0.2 ms for 10,000.

use super::fixed::{self, Fixed};
use super::scalar::Scalar;
use super::value::Value;
use dashu_int::IBig;
use dashu_int::ops::{Abs, DivRemEuclid};
use oxrdf::vocab::xsd;
use query::expression::{Arithmetic, Function};
use std::cmp::Ordering;

/// Digits of a number at most, those after the point and zeros between it and them included.
pub(crate) const DIGITS_MAX: usize = 10_000;

/// Digits of a rounded quotient: after the point, or significant.
const QUOTIENT_DIGITS: i64 = fixed::DIGITS as i64;

/// A decimal's lexical form, taken apart: sign, digits before the point without leading zeros, digits
/// after it without trailing ones.
pub(super) struct Parts<'a> {
    pub(super) is_negative: bool,
    pub(super) whole: &'a str,
    pub(super) fraction: &'a str,
    /// There is a point, so it is no integer's form.
    pub(super) has_point: bool,
}

impl<'a> Parts<'a> {
    /// `None` where the text is no form of `xsd:decimal` (XML Schema part 2, section 3.3.3).
    pub(super) fn of(lexical: &'a str) -> Option<Parts<'a>> {
        let unsigned = lexical.strip_prefix(['+', '-']).unwrap_or(lexical);
        let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
        let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let is_form = !(whole.is_empty() && fraction.is_empty());
        (is_form && are_digits(whole) && are_digits(fraction)).then(|| Parts {
            is_negative: lexical.starts_with('-'),
            whole: whole.trim_start_matches('0'),
            fraction: fraction.trim_end_matches('0'),
            has_point: unsigned.len() > whole.len(),
        })
    }
}

/// Whether a literal is an integer or a decimal whose value is no [`Scalar`]. To be asked once
/// [`Scalar::parse`] gave none.
pub(super) fn is_large(lexical: &str, local_name: &str) -> bool {
    let is_signed_so = |is_negative: bool| match local_name {
        "decimal" | "integer" => true,
        "nonNegativeInteger" | "positiveInteger" | "unsignedLong" => !is_negative,
        "nonPositiveInteger" | "negativeInteger" => is_negative,
        _ => false,
    };
    if !is_signed_so(lexical.starts_with('-')) {
        return false;
    }
    let Some(parts) = Parts::of(lexical) else {
        return false;
    };
    if local_name == "decimal" {
        return parts.whole.len() + parts.fraction.len() <= DIGITS_MAX;
    }
    let is_in_range = local_name != "unsignedLong" || lexical.parse::<u64>().is_ok();
    // What 64 bits hold and is no scalar is out of its type's range.
    !parts.has_point
        && parts.whole.len() <= DIGITS_MAX
        && is_in_range
        && lexical.parse::<i64>().is_err()
}

/// A number without bound, an integer or a decimal.
#[derive(Clone, Debug)]
pub(crate) struct Large {
    unscaled: IBig,
    scale: usize,
    /// Of `xsd:integer` or a type derived from it; its scale is 0.
    is_integer: bool,
}

/// What a numeric operation made.
#[derive(Clone, Debug)]
pub(crate) enum Computed {
    Scalar(Scalar),
    /// The canonical form, and the datatype.
    Large(String, &'static str),
}

impl Computed {
    /// The value, as operators see it.
    pub(crate) fn value(&self) -> Value<'_> {
        match self {
            Computed::Scalar(scalar) => Value::computed(*scalar),
            Computed::Large(form, datatype) => Value::Large(form, datatype),
        }
    }

    /// Bytes besides itself.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Computed::Scalar(_) => 0,
            Computed::Large(form, _) => form.capacity(),
        }
    }

    /// An integer.
    pub(crate) fn integer(value: i128) -> Computed {
        match i64::try_from(value) {
            Ok(value) => Computed::Scalar(Scalar::Integer(value)),
            Err(_) => Computed::Large(value.to_string(), xsd::INTEGER.as_str()),
        }
    }
}

fn power_of_ten(exponent: usize) -> IBig {
    IBig::from(10).pow(exponent)
}

impl Large {
    /// The value of an integer or a decimal; `None` for all others.
    pub(crate) fn of(value: &Value<'_>) -> Option<Large> {
        match value {
            Value::Scalar(Scalar::Integer(value), _) => Some(Large {
                unscaled: (*value).into(),
                scale: 0,
                is_integer: true,
            }),
            Value::Scalar(Scalar::Decimal(value), _) => Some(Large::of_fixed(*value)),
            Value::Large(lexical, datatype) => {
                let parsed = Large::parse(lexical)?;
                let is_integer = *datatype != xsd::DECIMAL.as_str();
                Some(Large {
                    is_integer,
                    ..parsed
                })
            }
            _ => None,
        }
    }

    /// The same number.
    pub(crate) fn of_fixed(value: Fixed) -> Large {
        Large {
            unscaled: value.units().into(),
            scale: fixed::DIGITS,
            is_integer: false,
        }
    }

    /// The decimal of this lexical form.
    pub(crate) fn parse(lexical: &str) -> Option<Large> {
        let parts = Parts::of(lexical)?;
        let (whole, fraction) = (parts.whole, parts.fraction);
        if whole.len() + fraction.len() > DIGITS_MAX {
            return None;
        }
        let mut digits = String::with_capacity(whole.len() + fraction.len() + 2);
        digits.push_str(if parts.is_negative { "-0" } else { "0" });
        digits.push_str(whole);
        digits.push_str(fraction);
        Some(Large {
            unscaled: digits.parse().ok()?,
            scale: fraction.len(),
            is_integer: false,
        })
    }

    /// Exactly a double; `None` where it is not finite.
    pub(crate) fn of_double(value: f64) -> Option<Large> {
        if !value.is_finite() {
            return None;
        }
        let bits = value.to_bits();
        let biased = (bits >> 52 & 0x7ff) as i64;
        let fraction = bits & ((1 << 52) - 1);
        let (mantissa, exponent) = match biased {
            0 => (fraction, -1074),
            _ => (fraction | 1 << 52, biased - 1075),
        };
        let mantissa = IBig::from(mantissa);
        let mantissa = if value < 0.0 { -mantissa } else { mantissa };
        // m x 2^-n is m x 5^n x 10^-n.
        let steps = exponent.unsigned_abs() as usize;
        let (unscaled, scale) = if exponent >= 0 {
            (mantissa << steps, 0)
        } else {
            (mantissa * IBig::from(5).pow(steps), steps)
        };
        Some(Large {
            unscaled,
            scale,
            is_integer: false,
        })
    }

    /// The integer part, towards zero.
    pub(crate) fn truncated(self) -> Large {
        Large {
            unscaled: self.unscaled / power_of_ten(self.scale),
            scale: 0,
            is_integer: true,
        }
    }

    /// As a decimal.
    pub(crate) fn into_decimal(self) -> Large {
        Large {
            is_integer: false,
            ..self
        }
    }

    /// The same number with the other's scale, where that is larger.
    fn unscaled_at(&self, scale: usize) -> IBig {
        if scale == self.scale {
            self.unscaled.clone()
        } else {
            &self.unscaled * power_of_ten(scale - self.scale)
        }
    }

    /// The nearest double.
    pub(crate) fn to_double(&self) -> Option<f64> {
        self.form()?.parse().ok()
    }

    /// The nearest float.
    pub(crate) fn to_float(&self) -> Option<f32> {
        self.form()?.parse().ok()
    }

    /// `+ - * /`; `None` is an error: overflow, or division by zero.
    pub(crate) fn combine(&self, operator: Arithmetic, other: &Large) -> Option<Computed> {
        let is_integer = self.is_integer && other.is_integer;
        let scale = self.scale.max(other.scale);
        let (unscaled, scale) = match operator {
            Arithmetic::Add => (self.unscaled_at(scale) + other.unscaled_at(scale), scale),
            Arithmetic::Subtract => (self.unscaled_at(scale) - other.unscaled_at(scale), scale),
            Arithmetic::Multiply => (&self.unscaled * &other.unscaled, self.scale + other.scale),
            Arithmetic::Divide => self.quotient(other)?,
        };
        let is_integer = is_integer && operator != Arithmetic::Divide;
        Large {
            unscaled,
            scale,
            is_integer,
        }
        .finish()
    }

    /// Unscaled and scale of a quotient, rounded.
    fn quotient(&self, other: &Large) -> Option<(IBig, usize)> {
        if other.unscaled.is_zero() {
            return None;
        }
        let mut over = self.unscaled_at(self.scale.max(other.scale));
        let mut under = other.unscaled_at(self.scale.max(other.scale));
        if under < IBig::ZERO {
            (over, under) = (-over, -under);
        }
        let scale = QUOTIENT_DIGITS.max(QUOTIENT_DIGITS - 1 - exponent(&over, &under));
        let scale = usize::try_from(scale).ok()?;
        // Digits that are zeros do not count, so a little beyond may do.
        if scale > DIGITS_MAX + fixed::DIGITS {
            return None;
        }
        let (quotient, rest) = (over * power_of_ten(scale)).div_rem_euclid(&under);
        let rest = IBig::from(rest);
        let is_odd = !(&quotient % IBig::from(2)).is_zero();
        let is_up = match (&rest * IBig::from(2)).cmp(&under) {
            Ordering::Less => false,
            Ordering::Equal => is_odd,
            Ordering::Greater => true,
        };
        let quotient = if is_up {
            quotient + IBig::ONE
        } else {
            quotient
        };
        Some((quotient, scale))
    }

    /// `ABS`, `ROUND`, `CEIL`, `FLOOR`; `None` is an error.
    pub(crate) fn round(self, function: Function) -> Option<Computed> {
        let unit = power_of_ten(self.scale);
        let floor = |unscaled: IBig| unscaled.div_rem_euclid(&unit).0;
        let (unscaled, scale) = match function {
            Function::Abs => (self.unscaled.abs(), self.scale),
            Function::Floor => (floor(self.unscaled), 0),
            Function::Ceil => (-floor(-self.unscaled), 0),
            // Of two, the greater: half of a unit is added.
            _ => (floor(self.unscaled + (&unit / IBig::from(2))), 0),
        };
        Large {
            unscaled,
            scale,
            is_integer: self.is_integer,
        }
        .finish()
    }

    /// Unary minus.
    pub(crate) fn negated(self) -> Option<Computed> {
        Large {
            unscaled: -self.unscaled,
            ..self
        }
        .finish()
    }

    /// The canonical form: no point where there is no fraction. `None`: it has too many digits.
    fn form(&self) -> Option<String> {
        let digits = self.unscaled.clone().abs().to_string();
        let (whole, fraction) = match digits.len().checked_sub(self.scale) {
            Some(point) => digits.split_at(point),
            None => ("", digits.as_str()),
        };
        let zeros = self.scale - fraction.len();
        let fraction = fraction.trim_end_matches('0');
        let zeros = if fraction.is_empty() { 0 } else { zeros };
        let is_whole_zero = whole.is_empty() || whole == "0";
        let counted = if is_whole_zero { 0 } else { whole.len() };
        if counted + zeros + fraction.len() > DIGITS_MAX {
            return None;
        }
        let whole = if is_whole_zero { "0" } else { whole };
        let mut form = String::with_capacity(whole.len() + zeros + fraction.len() + 2);
        if self.unscaled < IBig::ZERO {
            form.push('-');
        }
        form.push_str(whole);
        if !fraction.is_empty() {
            form.push('.');
            form.extend(std::iter::repeat_n('0', zeros));
            form.push_str(fraction);
        }
        Some(form)
    }

    /// What it is as a value: a scalar where it fits; `None`: it has too many digits.
    pub(crate) fn finish(&self) -> Option<Computed> {
        if self.is_integer {
            if let Ok(value) = i64::try_from(&self.unscaled) {
                return Some(Computed::Scalar(Scalar::Integer(value)));
            }
            return Some(Computed::Large(self.form()?, xsd::INTEGER.as_str()));
        }
        let form = self.form()?;
        Some(match Fixed::parse(&form) {
            Some(value) => Computed::Scalar(Scalar::Decimal(value)),
            None => Computed::Large(form, xsd::DECIMAL.as_str()),
        })
    }

    /// Bytes besides itself, about.
    pub(crate) fn bytes(&self) -> usize {
        let (_, words) = self.unscaled.as_sign_words();
        size_of_val(words)
    }
}

/// The power of ten of the first digit of |over| / under, which is 0 for 0; `under` is above zero.
fn exponent(over: &IBig, under: &IBig) -> i64 {
    let over = over.clone().abs();
    if over.is_zero() {
        return 0;
    }
    let digits = |number: &IBig| number.to_string().len() as i64;
    let guess = digits(&over) - digits(under);
    let is_below = if guess >= 0 {
        over < under * power_of_ten(guess as usize)
    } else {
        over * power_of_ten(guess.unsigned_abs() as usize) < *under
    };
    guess - i64::from(is_below)
}

impl PartialEq for Large {
    fn eq(&self, other: &Large) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Large {}

impl PartialOrd for Large {
    fn partial_cmp(&self, other: &Large) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Large {
    /// By value.
    fn cmp(&self, other: &Large) -> Ordering {
        let scale = self.scale.max(other.scale);
        self.unscaled_at(scale).cmp(&other.unscaled_at(scale))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn large(lexical: &str) -> Large {
        Large::parse(lexical).unwrap()
    }

    fn integer(lexical: &str) -> Large {
        Large {
            is_integer: true,
            ..large(lexical)
        }
    }

    fn form(computed: Option<Computed>) -> String {
        let computed = computed.unwrap();
        let mut form = String::new();
        computed.value().write_form(&mut form).unwrap();
        form
    }

    #[test]
    fn sums_and_products_are_exact() {
        let one = large("1.01");
        let mut product = one.clone();
        for _ in 0..9 {
            product = large(&form(product.combine(Arithmetic::Multiply, &one)));
        }
        assert_eq!(form(product.finish()), "1.10462212541120451001");
        let sum = large("0.0000000000000000000000000001").combine(Arithmetic::Add, &large("1"));
        assert_eq!(form(sum), "1.0000000000000000000000000001");
        let largest = integer("9223372036854775807");
        assert_eq!(
            form(largest.combine(Arithmetic::Add, &integer("1"))),
            "9223372036854775808"
        );
        assert!(matches!(
            largest.combine(Arithmetic::Subtract, &integer("1")),
            Some(Computed::Scalar(Scalar::Integer(9_223_372_036_854_775_806)))
        ));
    }

    #[test]
    fn quotients_have_18_digits_after_the_point_or_18_significant_ones() {
        let by =
            |left: &str, right: &str| form(large(left).combine(Arithmetic::Divide, &large(right)));
        assert_eq!(by("1", "3"), "0.333333333333333333");
        assert_eq!(by("1", "30"), "0.0333333333333333333");
        assert_eq!(by("-2", "3000"), "-0.000666666666666666667");
        assert_eq!(
            by("1000000000000000000000", "3"),
            "333333333333333333333.333333333333333333"
        );
        assert_eq!(by("0", "2.5"), "0");
        let same = "12345678901.234567890123456789";
        assert_eq!(by(same, same), "1");
        // Half a unit beyond the 18th digit goes to the even one, on both sides of zero.
        assert_eq!(by("1.000000000000000001", "2"), "0.5");
        assert_eq!(by("-1.000000000000000003", "2"), "-0.500000000000000002");
        assert!(
            large("1")
                .combine(Arithmetic::Divide, &large("0.0"))
                .is_none()
        );
    }

    #[test]
    fn more_than_ten_thousand_digits_are_an_overflow() {
        let nines = "9".repeat(DIGITS_MAX);
        let most = integer(&nines);
        assert!(most.combine(Arithmetic::Add, &integer("1")).is_none());
        assert!(most.combine(Arithmetic::Multiply, &most).is_none());
        assert_eq!(
            form(most.combine(Arithmetic::Subtract, &integer("0"))),
            nines
        );
        assert!(is_large(&nines, "integer") && !is_large(&format!("1{nines}"), "integer"));
        let least = large(&format!("0.{}1", "0".repeat(DIGITS_MAX - 2)));
        assert!(least.combine(Arithmetic::Divide, &large("10")).is_some());
        assert!(least.combine(Arithmetic::Divide, &large("1000")).is_none());
    }

    #[test]
    fn doubles_are_taken_exactly() {
        let exact = |value: f64| form(Large::of_double(value).unwrap().finish());
        assert_eq!(
            exact(0.1),
            "0.1000000000000000055511151231257827021181583404541015625"
        );
        assert_eq!(exact(-1e5), "-100000");
        assert_eq!(exact(1e22), "10000000000000000000000");
        assert_eq!(exact(0.0), "0");
        for value in [f64::MAX, f64::MIN_POSITIVE, 5e-324, 1.0 / 3.0] {
            assert_eq!(
                exact(value).parse::<f64>().unwrap().to_bits(),
                value.to_bits()
            );
        }
        assert!(Large::of_double(f64::NAN).is_none());
    }

    #[test]
    fn rounding_is_that_of_decimals() {
        let all = |lexical: &str| {
            [
                Function::Floor,
                Function::Ceil,
                Function::Round,
                Function::Abs,
            ]
            .map(|function| form(large(lexical).round(function)))
        };
        let tiny = "0.00000000000000000000000001";
        assert_eq!(all(&format!("-{tiny}")), ["-1", "0", "0", tiny]);
        assert_eq!(all("2.5"), ["2", "3", "3", "2.5"]);
        assert_eq!(all("-2.5"), ["-3", "-2", "-2", "2.5"]);
    }

    #[test]
    fn types_derived_from_integer_keep_their_ranges() {
        let large = "18446744073709551615";
        assert!(is_large(large, "unsignedLong") && is_large(large, "nonNegativeInteger"));
        assert!(!is_large("18446744073709551616", "unsignedLong"));
        assert!(!is_large(large, "long") && !is_large(large, "negativeInteger"));
        assert!(is_large(&format!("-{large}"), "negativeInteger"));
        assert!(!is_large("5", "nonPositiveInteger") && !is_large("1.0", "integer"));
    }
}
