//! The suite against the reference writer alone: clean, it passes; with one fault committed on
//! purpose, the audit says so and the run fails.

use std::process::{Command, Output};

fn run(arguments: &[&str]) -> Output {
    let out = tempfile::tempdir().expect("a temporary folder");
    Command::new(env!("CARGO_BIN_EXE_parlour-load"))
        .args(["run", "--reference-only", "--quick", "--out"])
        .arg(out.path())
        .args(arguments)
        .output()
        .expect("the binary starts")
}

fn assert_reported(fault: &str, words: &str) {
    let output = run(&["--reference-fault", fault, "fan-out"]);
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{fault} went unnoticed:\n{text}");
    assert!(text.contains("faults of completeness or order") && text.contains(words), "{text}");
}

#[test]
fn a_clean_run_of_every_kind_passes() {
    let output = run(&["fan-out", "many-rooms", "sends-64", "catch-up"]);
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
    let table = String::from_utf8_lossy(&output.stdout);
    assert_eq!(table.lines().filter(|line| line.starts_with("| ")).count(), 5, "{table}");
}

#[test]
fn one_dropped_delivery_is_reported() {
    assert_reported("drop-one", "messages missing before");
}

#[test]
fn one_doubled_delivery_is_reported() {
    assert_reported("double-one", "came again or late");
}

#[test]
fn two_swapped_deliveries_are_reported() {
    assert_reported("swap-two", "missing before");
}
