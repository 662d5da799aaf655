//! Family `tokenize`: the tokens of the `classic` analysis.

use llmwiki::search::tokenize::classic;

use crate::vectors::{self, Exceptions, Failures};

#[test]
fn vectors_tokenize() {
    let exceptions = Exceptions::of("tokenize");
    let mut failures = Failures::default();
    for case in vectors::cases("tokenize.json") {
        let id = vectors::id(&case);
        if vectors::has_lone_surrogates(&case) {
            continue;
        }
        let tokens = classic(case["input"].as_str().unwrap());
        let expected: Vec<&str> = case["tokens"]
            .as_array()
            .unwrap()
            .iter()
            .map(|token| token.as_str().unwrap())
            .collect();
        if tokens != expected && !exceptions.covers(id, &[]) {
            failures.note(id, format!("{tokens:?}, expected {expected:?}"));
        }
    }
    exceptions.check_all_used();
    failures.check();
}
