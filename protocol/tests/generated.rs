//! The generated files in the repository are the ones that the types make.

use std::{fs, path::Path};

#[test]
fn generated_files_are_up_to_date() {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for file in parlour_protocol::codegen::generate() {
        let committed = fs::read_to_string(workspace.join(file.path)).unwrap_or_default();
        assert!(committed == file.text, "{} is out of date: run `make generate`", file.path);
    }
}

#[test]
fn no_two_types_share_a_name() {
    let files = parlour_protocol::codegen::generate();
    let document: serde_json::Value = serde_json::from_str(&files[0].text).unwrap();
    let schemas = document["components"]["schemas"].as_object().unwrap();
    // The generator numbers the second type of a name.
    let numbered: Vec<_> = schemas.keys().filter(|name| name.ends_with(|last: char| last.is_ascii_digit())).collect();
    assert!(numbered.is_empty(), "{numbered:?}");
}

#[test]
fn every_reference_of_the_document_leads_somewhere() {
    fn references<'a>(value: &'a serde_json::Value, found: &mut Vec<&'a str>) {
        match value {
            serde_json::Value::Object(map) => {
                found.extend(map.get("$ref").and_then(|reference| reference.as_str()));
                map.values().for_each(|value| references(value, found));
            }
            serde_json::Value::Array(items) => items.iter().for_each(|value| references(value, found)),
            _ => {}
        }
    }
    let files = parlour_protocol::codegen::generate();
    let document: serde_json::Value = serde_json::from_str(&files[0].text).unwrap();
    let mut found = Vec::new();
    references(&document, &mut found);
    assert!(found.len() > 500, "{}", found.len());
    for reference in found {
        let pointer = reference.strip_prefix('#').unwrap();
        assert!(document.pointer(pointer).is_some(), "{reference}");
    }
}
