//! What must not reach a model or a page: secrets, and who people are. One table of rules.
//!
//! Commit ids and source ids (runs of 40 or 64 hexadecimal digits) are no secrets. Redaction is
//! idempotent, and keeps every line where it is: what replaces a block of lines has as many.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Regex};

/// Text without what was found in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redacted<'t> {
    /// The text.
    pub text: Cow<'t, str>,
    /// Keys, tokens and passwords that were taken out.
    pub secrets: u32,
    /// Names of people that were taken out: home directories and addresses.
    pub names: u32,
}

/// What a rule finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Finds {
    Secret,
    Name,
}

/// One rule: what it finds, the pattern, and what comes in its place.
struct Rule {
    finds: Finds,
    pattern: Regex,
    replace: fn(&Captures<'_>) -> Option<String>,
}

fn rule(finds: Finds, pattern: &str, replace: fn(&Captures<'_>) -> Option<String>) -> Option<Rule> {
    // A pattern that does not compile is a fault of this program; the tests find it.
    let pattern = Regex::new(pattern).ok()?;
    Some(Rule {
        finds,
        pattern,
        replace,
    })
}

/// Number of rows below.
#[cfg(test)]
const RULES_WRITTEN: usize = 9;

static RULES: LazyLock<Vec<Rule>> = LazyLock::new(|| {
    [
        rule(
            Finds::Secret,
            r"-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----|\z)",
            |found| {
                let lines = found[0].matches('\n').count();
                Some(format!("[private key]{}", "\n".repeat(lines)))
            },
        ),
        // Tokens and keys that say what they are by how they begin.
        rule(
            Finds::Secret,
            r"\b(?:(?:AKIA|ASIA|AGPA|AIDA|AROA)[0-9A-Z]{16}|gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{22,255}|glpat-[A-Za-z0-9_-]{20,64}|xox[abeprs]-[A-Za-z0-9-]{10,255}|sk-(?:ant-|proj-|svcacct-)?[A-Za-z0-9_-]{20,255}|[sr]k_(?:live|test)_[A-Za-z0-9]{16,255}|AIza[0-9A-Za-z_-]{35}|ya29\.[0-9A-Za-z_-]{20,255}|hf_[A-Za-z0-9]{30,64}|npm_[A-Za-z0-9]{36}|pypi-[A-Za-z0-9_-]{32,255}|SG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{32,64}|dop_v1_[a-f0-9]{64}|shp(?:at|ss|ca)_[a-fA-F0-9]{32}|key-[0-9a-f]{32}|AGE-SECRET-KEY-1[0-9A-Z]{58}|dckr_pat_[A-Za-z0-9_-]{20,64}|hv[sb]\.[A-Za-z0-9_-]{20,255}|glsa_[A-Za-z0-9]{32}_[a-f0-9]{8}|lin_api_[A-Za-z0-9]{32,64}|ATATT3[A-Za-z0-9_=-]{20,255}|NRAK-[A-Z0-9]{27}|dapi[a-f0-9]{32}|SK[0-9a-f]{32}|sq0(?:atp|csp)-[A-Za-z0-9_-]{22,64}|ntn_[A-Za-z0-9]{40,64}|\d{8,10}:AA[A-Za-z0-9_-]{33})",
            |_| Some("[secret]".to_owned()),
        ),
        rule(
            Finds::Secret,
            r"\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}",
            |_| Some("[secret]".to_owned()),
        ),
        rule(
            Finds::Secret,
            r"https://hooks\.slack\.com/services/[A-Za-z0-9/_-]{20,}",
            |_| Some("https://hooks.slack.com/services/[secret]".to_owned()),
        ),
        rule(
            Finds::Secret,
            r"\b([a-z][a-z0-9+.-]{1,20}://)([^\s:/@'\x22\[\]{}<>$]{1,64}):([^\s/@'\x22\[\]{}<>$]{3,128})@",
            |found| Some(format!("{}[secret]@", &found[1])),
        ),
        rule(
            Finds::Secret,
            r"(?i)\b(bearer|basic)[ \t]+([A-Za-z0-9+/_=.~-]{20,512})",
            |found| is_random(&found[2]).then(|| format!("{} [secret]", &found[1])),
        ),
        rule(
            Finds::Secret,
            r#"(?i)\b([a-z0-9_.-]{0,40}(?:secret|token|passw(?:or)?d|passphrase|api[_-]?key|access[_-]?key|private[_-]?key|auth[_-]?key|account[_-]?key|signing[_-]?key|encryption[_-]?key|credential)[a-z0-9_.-]{0,40}["']?[ \t]{0,8}(?::=|=>|[:=])[ \t]{0,8})(["']?)([A-Za-z0-9+/_=.~!@#$%^&*-]{12,512})"#,
            |found| is_random(&found[3]).then(|| format!("{}{}[secret]", &found[1], &found[2])),
        ),
        rule(
            Finds::Name,
            r"(?:/home/|/Users/|\b[A-Za-z]:\\{1,2}Users\\{1,2})[A-Za-z0-9._-]{1,64}",
            |found| (!is_nobody(&found[0])).then(|| "~".to_owned()),
        ),
        rule(
            Finds::Name,
            r"\b[A-Za-z0-9._%+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}\b",
            |found| (!is_service(&found[0])).then(|| "[e-mail]".to_owned()),
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
});

/// Takes out what must not be shown.
pub fn redact(text: &str) -> Redacted<'_> {
    let mut redacted = Redacted {
        text: Cow::Borrowed(text),
        secrets: 0,
        names: 0,
    };
    for rule in RULES.iter() {
        let mut count = 0;
        let replaced = rule
            .pattern
            .replace_all(&redacted.text, |found: &Captures<'_>| {
                match (rule.replace)(found) {
                    Some(other) => {
                        count += 1;
                        other
                    }
                    None => found[0].to_owned(),
                }
            });
        if count > 0 {
            redacted.text = Cow::Owned(replaced.into_owned());
            match rule.finds {
                Finds::Secret => redacted.secrets += count,
                Finds::Name => redacted.names += count,
            }
        }
    }
    redacted
}

/// Whether a value looks as if a machine had made it up. Names, words and versions do not; commit
/// ids and source ids are known not to be secret.
fn is_random(value: &str) -> bool {
    let is_hex = value.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_hex && matches!(value.len(), 40 | 64) {
        return false;
    }
    let has_digit = value.bytes().any(|byte| byte.is_ascii_digit());
    let has_letter = value.bytes().any(|byte| byte.is_ascii_alphabetic());
    // Members of things: `config.token.value1`, `process.env.TOKEN_2`.
    let is_path = value.contains("..")
        || value.split('.').count() > 2 && value.split('.').all(|part| part.len() < 16);
    has_digit && has_letter && !is_path && entropy(value) >= if is_hex { 2.8 } else { 3.3 }
}

/// Shannon entropy in bits for each character.
fn entropy(value: &str) -> f64 {
    let mut counts = [0u32; 256];
    for byte in value.bytes() {
        counts[usize::from(byte)] += 1;
    }
    let length = value.len() as f64;
    counts
        .iter()
        .filter(|&&count| count > 0)
        .map(|&count| {
            let share = f64::from(count) / length;
            -share * share.log2()
        })
        .sum()
}

/// Home directories that name nobody.
fn is_nobody(path: &str) -> bool {
    let name = path.rsplit(['/', '\\']).next().unwrap_or_default();
    matches!(
        name.to_ascii_lowercase().as_str(),
        "user"
            | "username"
            | "you"
            | "me"
            | "shared"
            | "public"
            | "runner"
            | "name"
            | "..."
            | "foo"
    )
}

/// Addresses of services, and those of the documentation domains.
fn is_service(address: &str) -> bool {
    let (name, domain) = address.split_once('@').unwrap_or((address, ""));
    let domain = domain.to_ascii_lowercase();
    matches!(name, "git" | "hg" | "svn")
        || ["example.com", "example.org", "example.net"]
            .iter()
            .any(|known| domain == *known || domain.ends_with(&format!(".{known}")))
        || domain
            .rsplit('.')
            .next()
            .is_some_and(|top| matches!(top, "example" | "invalid" | "test"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(serde::Deserialize)]
    struct Case {
        text: String,
        /// The text afterwards; the same where nothing is to be found.
        becomes: String,
        why: String,
    }

    /// Samples in the data file are broken by `<>`, so that scanners of this repository stay quiet.
    fn cases() -> Vec<Case> {
        include_str!("../../tests/data/redaction.jsonl")
            .lines()
            .map(|line| serde_json::from_str(&line.replace("<>", "")).unwrap())
            .collect()
    }

    #[test]
    fn every_pattern_compiles() {
        assert_eq!(RULES.len(), RULES_WRITTEN);
    }

    #[test]
    fn positives_are_taken_out_and_negatives_stay() {
        let cases = cases();
        let negatives = cases.iter().filter(|case| case.text == case.becomes);
        assert!(negatives.count() >= 25);
        assert!(cases.len() >= 65, "{}", cases.len());
        for case in cases {
            let found = redact(&case.text);
            assert_eq!(found.text, case.becomes, "{}", case.why);
            // What stands in their place says how many there were.
            let count = |marks: &[&str]| {
                let of = |text: &str| -> usize {
                    marks.iter().map(|mark| text.matches(mark).count()).sum()
                };
                u32::try_from(of(&case.becomes) - of(&case.text)).unwrap()
            };
            let secrets = count(&["[secret]", "[private key]"]);
            assert_eq!(found.secrets, secrets, "{}", case.why);
            assert_eq!(found.names, count(&["[e-mail]", "~"]), "{}", case.why);
        }
    }

    proptest! {
        #[test]
        fn lines_stay_where_they_are_and_twice_is_once(
            text in "(token = \"[a-z0-9]{20}\"|-----BEGIN PRIVATE KEY-----\n[A-Z]{5}\n|/home/[a-z]{3}/x|a@b\\.io|[a-z \n\"=:]{0,9}){0,12}",
        ) {
            let once = redact(&text);
            prop_assert_eq!(once.text.matches('\n').count(), text.matches('\n').count());
            let twice = redact(&once.text);
            prop_assert_eq!(twice.text.as_ref(), once.text.as_ref());
        }
    }
}
