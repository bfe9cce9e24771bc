//! What the word filter costs a message: a thousand words over a body of ten thousand characters.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};

#[expect(dead_code, reason = "its tests run with the server's")]
#[path = "../src/filter/fold.rs"]
mod fold;
#[expect(dead_code, reason = "its tests run with the server's")]
#[path = "../src/filter/matcher.rs"]
mod matcher;
#[path = "../src/unseen.rs"]
mod unseen;
#[expect(dead_code, reason = "its tests run with the server's")]
#[path = "../src/filter/visible.rs"]
mod visible;

use matcher::Matcher;
use visible::Shown;

/// Words that look like words and are in no text.
fn words() -> Vec<String> {
    const PARTS: [&str; 10] = ["zor", "quil", "vex", "brum", "thax", "yop", "grel", "fnord", "klee", "wust"];
    (0..1000)
        .map(|number| format!("{}{}{}", PARTS[number / 100], PARTS[number / 10 % 10], PARTS[number % 10]))
        .collect()
}

/// A body of ten thousand characters without any of them.
fn body(sentence: &str) -> String {
    sentence.chars().cycle().take(10_000).collect()
}

fn filter(criterion: &mut Criterion) {
    let words = words();
    let matcher = Matcher::new(words.iter().map(|word| (word.as_str(), false)));
    let english = body("The quick brown fox jumps over the lazy dog, and nobody minds &amp; <b>bold</b> text. ");
    let russian = body("Съешь же ещё этих мягких французских булок, да выпей чаю. ");
    for (name, text) in [("1000 words, 10000 characters", &english), ("the same, Cyrillic", &russian)] {
        criterion.bench_function(name, |bencher| {
            bencher.iter(|| assert!(!matcher.matches(Shown::Html(black_box(text)))));
        });
    }
    criterion.bench_function("compile 1000 words", |bencher| {
        bencher.iter(|| Matcher::new(black_box(&words).iter().map(|word| (word.as_str(), false))));
    });
}

criterion_group!(benches, filter);
criterion_main!(benches);
