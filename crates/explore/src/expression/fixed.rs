//! Decimals of at most 18 digits after the point, in 128 bits: the fast path of `xsd:decimal`.
//!
//! A [`Fixed`] counts units of 10^-18, so it holds numbers up to 1.7 x 10^20 in magnitude. Every
//! operation is exact or gives `None`, which says that the result is no [`Fixed`]: what calls then
//! computes it with [`super::large::Large`]. Only a quotient is rounded (XPath F&O 3.1 section 4.2 leaves
//! to the implementation how): half to even at the 18th digit after the point, unless it is below a
//! tenth and does not end there, which is `None` too, because its 18th significant digit is finer.

use super::large::Parts;
use std::fmt::{self, Write as _};

/// Digits after the point.
pub(super) const DIGITS: usize = 18;

/// Units in one.
pub(super) const UNIT: i128 = 1_000_000_000_000_000_000;

/// Half of the digits: what two factors may be divided by for their product to be units again.
const HALF: i128 = 1_000_000_000;

/// A decimal in units of 10^-18.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Fixed(i128);

impl From<i64> for Fixed {
    fn from(value: i64) -> Fixed {
        Fixed(i128::from(value) * UNIT)
    }
}

impl From<oxsdatatypes::Decimal> for Fixed {
    /// What dates and inline ids have: the same units.
    fn from(value: oxsdatatypes::Decimal) -> Fixed {
        Fixed(i128::from_be_bytes(value.to_be_bytes()))
    }
}

impl Fixed {
    /// So many units.
    pub(super) fn from_units(units: i128) -> Fixed {
        Fixed(units)
    }

    /// How many units it is.
    pub(super) fn units(self) -> i128 {
        self.0
    }

    /// The value of a decimal's lexical form (XML Schema part 2, section 3.3.3).
    pub(crate) fn parse(lexical: &str) -> Option<Fixed> {
        let parts = Parts::of(lexical)?;
        if parts.whole.len() > 21 || parts.fraction.len() > DIGITS {
            return None;
        }
        let digits = |text: &str| -> i128 {
            let digits = text.bytes().map(|digit| i128::from(digit - b'0'));
            digits.fold(0, |value, digit| 10 * value + digit)
        };
        let missing = (DIGITS - parts.fraction.len()) as u32;
        let whole = digits(parts.whole).checked_mul(UNIT)?;
        let units = whole.checked_add(digits(parts.fraction) * 10_i128.pow(missing))?;
        Some(Fixed(if parts.is_negative { -units } else { units }))
    }

    pub(crate) fn is_zero(self) -> bool {
        self.0 == 0
    }

    pub(crate) fn plus(self, other: Fixed) -> Option<Fixed> {
        self.0.checked_add(other.0).map(Fixed)
    }

    pub(crate) fn minus(self, other: Fixed) -> Option<Fixed> {
        self.0.checked_sub(other.0).map(Fixed)
    }

    pub(crate) fn times(self, other: Fixed) -> Option<Fixed> {
        let (left, right) = (self.0, other.0);
        if left % HALF == 0 && right % HALF == 0 {
            return (left / HALF).checked_mul(right / HALF).map(Fixed);
        }
        if left % UNIT == 0 {
            return (left / UNIT).checked_mul(right).map(Fixed);
        }
        if right % UNIT == 0 {
            return left.checked_mul(right / UNIT).map(Fixed);
        }
        let product = left.checked_mul(right)?;
        (product % UNIT == 0).then_some(Fixed(product / UNIT))
    }

    /// The quotient; the divisor is not zero.
    pub(crate) fn by(self, other: Fixed) -> Option<Fixed> {
        if self.0 % HALF == 0 && other.0 % HALF == 0 {
            return Fixed::ratio(self.0 / HALF, other.0 / HALF);
        }
        Fixed::ratio(self.0, other.0)
    }

    /// The quotient of two integers, the latter not zero.
    pub(crate) fn ratio(dividend: i128, divisor: i128) -> Option<Fixed> {
        const STEP: u128 = HALF as u128;
        let (over, under) = (dividend.unsigned_abs(), divisor.unsigned_abs());
        if under > u128::MAX / STEP {
            return None;
        }
        let (whole, rest) = (over / under, over % under);
        let (high, rest) = (rest * STEP / under, rest * STEP % under);
        let (low, rest) = (rest * STEP / under, rest * STEP % under);
        let units = whole.checked_mul(UNIT as u128)?;
        let units = units.checked_add(high * STEP + low)?;
        let is_rounded = rest != 0;
        if is_rounded && units < UNIT as u128 / 10 {
            return None;
        }
        let doubled = 2 * rest;
        let is_up = doubled > under || (doubled == under && units % 2 == 1);
        let units = i128::try_from(units + u128::from(is_up)).ok()?;
        let is_negative = (dividend < 0) != (divisor < 0);
        Some(Fixed(if is_negative { -units } else { units }))
    }

    pub(crate) fn negated(self) -> Option<Fixed> {
        self.0.checked_neg().map(Fixed)
    }

    pub(crate) fn magnitude(self) -> Option<Fixed> {
        self.0.checked_abs().map(Fixed)
    }

    /// The integer part, towards zero (F&O 3.1 section 19.1.3.4).
    pub(crate) fn truncated(self) -> i128 {
        self.0 / UNIT
    }

    /// The greatest integer that is not above it.
    pub(crate) fn floor(self) -> Option<Fixed> {
        self.0.div_euclid(UNIT).checked_mul(UNIT).map(Fixed)
    }

    /// The least integer that is not below it.
    pub(crate) fn ceiling(self) -> Option<Fixed> {
        self.negated()?.floor()?.negated()
    }

    /// The nearest integer, of two the greater (F&O 3.1 section 4.4.4).
    pub(crate) fn rounded(self) -> Option<Fixed> {
        self.plus(Fixed(UNIT / 2))?.floor()
    }

    /// The nearest double.
    pub(crate) fn to_double(self) -> f64 {
        if self.0 % UNIT == 0 {
            return (self.0 / UNIT) as f64;
        }
        // Exact where both are doubles and the quotient is one rounding (Clinger 1990).
        const EXACT: i128 = 1 << 53;
        for (divisor, scale) in [
            (HALF * 1_000_000_000 / 100, 1e2),
            (HALF * 1_000, 1e6),
            (HALF, 1e9),
        ] {
            if self.0 % divisor == 0 && (self.0 / divisor).abs() <= EXACT {
                return (self.0 / divisor) as f64 / scale;
            }
        }
        self.to_string()
            .parse()
            .expect("a decimal is a double's form")
    }

    /// The nearest float.
    pub(crate) fn to_float(self) -> f32 {
        if self.0 % UNIT == 0 {
            return (self.0 / UNIT) as f32;
        }
        self.to_string()
            .parse()
            .expect("a decimal is a float's form")
    }
}

impl fmt::Display for Fixed {
    /// The canonical form (XML Schema 1.1 part 2, section 3.3.3.2): no point where there is no fraction.
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 < 0 {
            to.write_char('-')?;
        }
        let units = self.0.unsigned_abs();
        let (whole, fraction) = (units / UNIT as u128, (units % UNIT as u128) as u64);
        match u64::try_from(whole) {
            Ok(whole) => write!(to, "{whole}")?,
            Err(_) => write!(to, "{whole}")?,
        }
        if fraction == 0 {
            return Ok(());
        }
        let mut digits = [b'0'; DIGITS];
        let mut rest = fraction;
        for digit in digits.iter_mut().rev() {
            *digit = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        let digits = std::str::from_utf8(&digits).expect("digits are ASCII");
        to.write_char('.')?;
        to.write_str(digits.trim_end_matches('0'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fixed(lexical: &str) -> Fixed {
        Fixed::parse(lexical).unwrap()
    }

    #[test]
    fn forms_are_read_and_written() {
        for (lexical, canonical) in [
            ("0", "0"),
            ("-0.0", "0"),
            ("+1.50", "1.5"),
            (".5", "0.5"),
            ("5.", "5"),
            ("-0.000000000000000001", "-0.000000000000000001"),
            ("00012345678901234567.890", "12345678901234567.89"),
            (
                "170141183460469231731.687303715884105727",
                "170141183460469231731.687303715884105727",
            ),
        ] {
            assert_eq!(fixed(lexical).to_string(), canonical);
        }
        let not_one = ["", ".", "+", "1e5", "1.5.5", "1 ", "0x1", "INF", "--1"];
        let not_fixed = [
            "0.0000000000000000001",
            "1000000000000000000000",
            "170141183460469231732",
        ];
        for lexical in not_one.iter().chain(&not_fixed) {
            assert_eq!(Fixed::parse(lexical), None, "{lexical}");
        }
    }

    #[test]
    fn products_are_exact_or_none() {
        let times = |left, right| {
            fixed(left)
                .times(fixed(right))
                .map(|product| product.to_string())
        };
        assert_eq!(times("100.5", "200.25").unwrap(), "20125.125");
        assert_eq!(
            times("0.000000001", "0.000000001").unwrap(),
            "0.000000000000000001"
        );
        assert_eq!(times("0.0000000001", "0.000000001"), None);
        assert_eq!(
            times("3", "0.333333333333333333").unwrap(),
            "0.999999999999999999"
        );
        assert_eq!(times("-100000000000", "10000000000"), None);
    }

    #[test]
    fn quotients_are_rounded_half_to_even_at_the_18th_digit() {
        let by = |left, right| {
            fixed(left)
                .by(fixed(right))
                .map(|quotient| quotient.to_string())
        };
        assert_eq!(by("1", "3").unwrap(), "0.333333333333333333");
        assert_eq!(by("2", "-3").unwrap(), "-0.666666666666666667");
        assert_eq!(by("0", "2.5").unwrap(), "0");
        assert_eq!(
            by("1", "1000000000000000000").unwrap(),
            "0.000000000000000001"
        );
        assert_eq!(by("1", "30"), None, "it has finer digits");
        // 0.5 and 1.5 units beyond the 18th digit.
        assert_eq!(by("1.000000000000000001", "2").unwrap(), "0.5");
        assert_eq!(
            by("1.000000000000000003", "2").unwrap(),
            "0.500000000000000002"
        );
    }

    #[test]
    fn rounding_goes_up_between_two_integers() {
        for (lexical, floor, ceiling, rounded) in [
            ("2.5", "2", "3", "3"),
            ("-2.5", "-3", "-2", "-2"),
            ("-2.500000000000000001", "-3", "-2", "-3"),
            ("0.499999999999999999", "0", "1", "0"),
            ("7", "7", "7", "7"),
        ] {
            let value = fixed(lexical);
            let all = [value.floor(), value.ceiling(), value.rounded()];
            let all = all.map(|value| value.unwrap().to_string());
            assert_eq!(all, [floor, ceiling, rounded], "{lexical}");
        }
        assert_eq!(fixed("-2.9").truncated(), -2);
    }

    #[test]
    fn the_nearest_double_is_that_of_the_text() {
        for lexical in [
            "0.1",
            "995675286560.4821237",
            "9007199254740993",
            "123456789.123456789",
            "-0.000000000000000001",
        ] {
            let (double, float) = (fixed(lexical).to_double(), fixed(lexical).to_float());
            let (wide, narrow): (f64, f32) = (lexical.parse().unwrap(), lexical.parse().unwrap());
            assert_eq!(double.to_bits(), wide.to_bits(), "{lexical}");
            assert_eq!(float.to_bits(), narrow.to_bits(), "{lexical}");
        }
    }
}
