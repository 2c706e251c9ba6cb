//! Can this processor run this binary?
//!
//! The workspace is compiled for processors of the level x86-64-v3 (AVX2, BMI, FMA; see
//! `.cargo/config.toml`). On an older one some instruction, somewhere, would end the process without
//! a word, so it is asked first. What the compiler was told is no help here: the standard library
//! answers from it.

use crate::exit::{Code, Failure, Outcome};

/// Fails with the names of what is missing.
#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
pub fn check() -> Outcome {
    use raw_cpuid::{ExtendedFeatures, FeatureInfo};
    let asked = raw_cpuid::CpuId::new();
    let basic = asked.get_feature_info();
    let extended = asked.get_extended_feature_info();
    let late = asked.get_extended_processor_and_feature_identifiers();
    let basic = |has: fn(&FeatureInfo) -> bool| basic.as_ref().is_some_and(has);
    let extended = |has: fn(&ExtendedFeatures) -> bool| extended.as_ref().is_some_and(has);
    let has_lzcnt = late.is_some_and(|late| late.has_lzcnt());
    outcome(&[
        ("popcnt", basic(FeatureInfo::has_popcnt)),
        ("movbe", basic(FeatureInfo::has_movbe)),
        ("f16c", basic(FeatureInfo::has_f16c)),
        ("fma", basic(FeatureInfo::has_fma)),
        ("avx", basic(FeatureInfo::has_avx)),
        ("avx2", extended(ExtendedFeatures::has_avx2)),
        ("bmi1", extended(ExtendedFeatures::has_bmi1)),
        ("bmi2", extended(ExtendedFeatures::has_bmi2)),
        ("lzcnt", has_lzcnt),
    ])
}

/// Nothing beyond the architecture's minimum was asked for.
#[cfg(not(all(target_arch = "x86_64", target_feature = "avx2")))]
pub fn check() -> Outcome {
    outcome(&[])
}

fn outcome(features: &[(&str, bool)]) -> Outcome {
    let missing = features.iter().filter(|(_, is_there)| !is_there);
    let missing: Vec<&str> = missing.map(|(name, _)| *name).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let message = format!(
        "this processor lacks {}, which this build needs; on it, build Somersault with \
         RUSTFLAGS=\"-Ctarget-cpu=native\"",
        missing.join(", ")
    );
    Err(Failure::new(Code::Failed, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named() {
        assert!(outcome(&[]).is_ok());
        assert!(outcome(&[("avx2", true)]).is_ok());
        let failure = outcome(&[("avx2", false), ("fma", true), ("lzcnt", false)]).unwrap_err();
        assert!(
            failure.message.contains("lacks avx2, lzcnt,"),
            "{failure:?}"
        );
    }

    #[test]
    fn what_runs_the_tests_can_run_the_binary() {
        assert!(check().is_ok());
    }
}
