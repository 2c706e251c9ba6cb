//! `device`, on machines with a card and without: it says what there is, and fails only where it was told to measure
//! what is not there.

use crate::common::run;

/// Whether the machine has a card is what `status` says; everything else must go with it.
fn has_card() -> bool {
    let told = run(["device", "status", "--format", "json"]);
    assert_eq!(told.code, Some(0), "{}", told.errors);
    let told: serde_json::Value = serde_json::from_str(&told.output).expect("JSON");
    let devices = told["devices"].as_array().expect("a list");
    assert_eq!(devices.is_empty(), told["none"].is_string(), "{told}");
    !devices.is_empty()
}

#[test]
fn status_says_what_there_is() {
    let status = run(["device", "status"]);
    assert_eq!(status.code, Some(0), "{}", status.errors);
    assert_eq!(status.errors, "");
    let says_none = status.output.starts_with("device: none (");
    assert_eq!(says_none, !has_card(), "{}", status.output);
}

#[test]
fn a_card_that_is_not_there_is_named() {
    let probe = run(["device", "probe", "--device", "99"]);
    assert_eq!(probe.code, Some(1), "{}", probe.output);
    assert_eq!(probe.output, "");
    let named = "no device: number 99 was asked for";
    assert!(probe.errors.contains(named), "{}", probe.errors);
}
