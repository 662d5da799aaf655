//! JSON as JavaScript reads and writes it: key order kept, numbers of one type, printed the
//! shortest way. `serde_json` sorts keys and prints `27.0`, so it cannot tell a canonical file.

use std::fmt::Write as _;

/// Deepest nesting that is read; the index format needs five levels.
const MAX_DEPTH: usize = 64;

/// A value. Objects keep every key in the order of the text.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Json {
    Null,
    Bool(bool),
    Number(f64),
    String(String),
    Array(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl From<&str> for Json {
    fn from(text: &str) -> Self {
        Self::String(text.to_owned())
    }
}

impl From<u64> for Json {
    fn from(count: u64) -> Self {
        Self::Number(count as f64)
    }
}

impl FromIterator<Json> for Json {
    fn from_iter<I: IntoIterator<Item = Json>>(values: I) -> Self {
        Self::Array(values.into_iter().collect())
    }
}

impl Json {
    pub(super) fn object<const N: usize>(members: [(&str, Json); N]) -> Self {
        Self::Object(
            members
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value))
                .collect(),
        )
    }

    /// The member of that name; the last one, as `JSON.parse` keeps it.
    pub(super) fn get(&self, key: &str) -> Option<&Json> {
        let Self::Object(members) = self else {
            return None;
        };
        members
            .iter()
            .rev()
            .find(|(name, _)| name == key)
            .map(|(_, value)| value)
    }

    /// Whether this is an object with exactly these keys, once each.
    pub(super) fn has_keys(&self, keys: &[&str]) -> bool {
        let Self::Object(members) = self else {
            return false;
        };
        members.len() == keys.len() && keys.iter().all(|key| self.get(key).is_some())
    }

    pub(super) fn as_str(&self) -> Option<&str> {
        if let Self::String(text) = self {
            Some(text)
        } else {
            None
        }
    }

    pub(super) fn as_number(&self) -> Option<f64> {
        if let Self::Number(number) = self {
            Some(*number)
        } else {
            None
        }
    }

    /// A non-negative integer that a double holds exactly.
    pub(super) fn as_count(&self) -> Option<u64> {
        const LARGEST: f64 = 9_007_199_254_740_991.0;
        let number = self.as_number()?;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the range and the missing fraction were just checked"
        )]
        let count = number as u64;
        ((0.0..=LARGEST).contains(&number) && number.fract() == 0.0).then_some(count)
    }

    /// As `JSON.stringify(value, null, 2)` prints it.
    pub(super) fn pretty(&self) -> String {
        let mut out = String::new();
        self.write(&mut out, 0);
        out
    }

    fn write(&self, out: &mut String, depth: usize) {
        match self {
            Self::Null => out.push_str("null"),
            Self::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Self::Number(number) => write_number(out, *number),
            Self::String(text) => write_string(out, text),
            Self::Array(values) => {
                write_list(out, depth, ['[', ']'], values, |out, value, depth| {
                    value.write(out, depth);
                });
            }
            Self::Object(members) => {
                write_list(
                    out,
                    depth,
                    ['{', '}'],
                    members,
                    |out, (key, value), depth| {
                        write_string(out, key);
                        out.push_str(": ");
                        value.write(out, depth);
                    },
                );
            }
        }
    }
}

fn write_list<T>(
    out: &mut String,
    depth: usize,
    brackets: [char; 2],
    items: &[T],
    write: impl Fn(&mut String, &T, usize),
) {
    let line = |out: &mut String, depth: usize| {
        out.push('\n');
        (0..depth).for_each(|_| out.push_str("  "));
    };
    out.push(brackets[0]);
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        line(out, depth + 1);
        write(out, item, depth + 1);
    }
    if !items.is_empty() {
        line(out, depth);
    }
    out.push(brackets[1]);
}

fn write_string(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\u{C}' => out.push_str("\\f"),
            '\r' => out.push_str("\\r"),
            c if c < ' ' => {
                // Writing to a string does not fail.
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

/// `Number::toString` of ECMAScript: the shortest digits that read back, plain between 1e-7 and
/// 1e21.
fn write_number(out: &mut String, number: f64) {
    if number == 0.0 {
        out.push('0');
        return;
    }
    let magnitude = number.abs();
    if (1e-6..1e21).contains(&magnitude) {
        let _ = write!(out, "{number}");
    } else {
        let text = format!("{number:e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let sign = if exponent.starts_with('-') { "" } else { "+" };
        let _ = write!(out, "{digits}e{sign}{exponent}");
    }
}

/// Reads a JSON text; `None` where `JSON.parse` would throw, where it is nested too deeply, and
/// where an escape stands for half a character.
pub(super) fn parse(text: &str) -> Option<Json> {
    let mut reader = Reader { text, at: 0 };
    let value = reader.value(0)?;
    reader.space();
    (reader.at == text.len()).then_some(value)
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> Option<()> {
        if self.peek() != Some(byte) {
            return None;
        }
        self.at += 1;
        Some(())
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn value(&mut self, depth: usize) -> Option<Json> {
        if depth > MAX_DEPTH {
            return None;
        }
        self.space();
        match self.peek()? {
            b'{' => {
                let mut members = Vec::new();
                self.list(b'{', b'}', |reader| {
                    let key = reader.string()?;
                    reader.space();
                    reader.take(b':')?;
                    members.push((key, reader.value(depth + 1)?));
                    Some(())
                })?;
                Some(Json::Object(members))
            }
            b'[' => {
                let mut values = Vec::new();
                self.list(b'[', b']', |reader| {
                    values.push(reader.value(depth + 1)?);
                    Some(())
                })?;
                Some(Json::Array(values))
            }
            b'"' => self.string().map(Json::String),
            b'n' => self.word("null", Json::Null),
            b't' => self.word("true", Json::Bool(true)),
            b'f' => self.word("false", Json::Bool(false)),
            _ => self.number(),
        }
    }

    fn list(
        &mut self,
        open: u8,
        close: u8,
        mut item: impl FnMut(&mut Self) -> Option<()>,
    ) -> Option<()> {
        self.take(open)?;
        self.space();
        if self.take(close).is_some() {
            return Some(());
        }
        loop {
            self.space();
            item(self)?;
            self.space();
            if self.take(close).is_some() {
                return Some(());
            }
            self.take(b',')?;
        }
    }

    fn word(&mut self, word: &str, value: Json) -> Option<Json> {
        if !self.text[self.at..].starts_with(word) {
            return None;
        }
        self.at += word.len();
        Some(value)
    }

    fn digits(&mut self) -> Option<()> {
        let from = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        (self.at > from).then_some(())
    }

    fn number(&mut self) -> Option<Json> {
        let from = self.at;
        let _ = self.take(b'-');
        if self.take(b'0').is_none() {
            self.digits()?;
        }
        if self.take(b'.').is_some() {
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        self.text[from..self.at].parse().ok().map(Json::Number)
    }

    fn string(&mut self) -> Option<String> {
        self.take(b'"')?;
        let mut out = String::new();
        loop {
            let from = self.at;
            while !matches!(self.peek()?, b'"' | b'\\' | 0..=0x1F) {
                self.at += 1;
            }
            out.push_str(&self.text[from..self.at]);
            match self.peek()? {
                b'"' => {
                    self.at += 1;
                    return Some(out);
                }
                b'\\' => {
                    self.at += 1;
                    out.push(self.escape()?);
                }
                _ => return None,
            }
        }
    }

    fn escape(&mut self) -> Option<char> {
        let byte = self.peek()?;
        self.at += 1;
        Some(match byte {
            b'"' | b'\\' | b'/' => byte as char,
            b'b' => '\u{8}',
            b'f' => '\u{C}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let high = self.unit()?;
                if !(0xD800..0xDC00).contains(&high) {
                    return char::from_u32(high);
                }
                self.take(b'\\')?;
                self.take(b'u')?;
                let low = self.unit()?;
                if !(0xDC00..0xE000).contains(&low) {
                    return None;
                }
                return char::from_u32(0x1_0000 + ((high - 0xD800) << 10) + (low - 0xDC00));
            }
            _ => return None,
        })
    }

    fn unit(&mut self) -> Option<u32> {
        let digits = self.text.get(self.at..self.at + 4)?;
        if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        self.at += 4;
        u32::from_str_radix(digits, 16).ok()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_print_as_javascript_prints_them() {
        for (text, printed) in [
            ("27.0", "27"),
            ("6.50", "6.5"),
            ("10.454545454545455", "10.454545454545455"),
            ("-0", "0"),
            ("1e21", "1e+21"),
            ("123456789012345680000", "123456789012345680000"),
            ("0.000001", "0.000001"),
            ("0.0000001", "1e-7"),
            ("-1.5e300", "-1.5e+300"),
        ] {
            assert_eq!(
                parse(text).map(|value| value.pretty()).as_deref(),
                Some(printed)
            );
        }
    }

    #[test]
    fn what_is_no_json_is_refused() {
        for text in [
            "",
            "{",
            "[1,]",
            "01",
            "1.",
            ".5",
            "+1",
            "\"\n\"",
            "\"\\x\"",
            "nul",
            "1 2",
            "\"\\ud800\"",
            "{\"a\" 1}",
            "'a'",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
        assert_eq!(parse(&"[".repeat(100_000)), None);
    }

    #[test]
    fn keys_keep_their_order_and_the_last_of_two_counts() {
        let value = parse("{\"b\": 1, \"a\": [], \"b\": 2}").unwrap();
        assert_eq!(value.get("b"), Some(&Json::Number(2.0)));
        assert!(!value.has_keys(&["a", "b"]));
        let value = parse("{\"b\": 1, \"a\": []}").unwrap();
        assert!(value.has_keys(&["a", "b"]) && !value.has_keys(&["a"]));
        assert_eq!(value.pretty(), "{\n  \"b\": 1,\n  \"a\": []\n}");
    }

    proptest! {
        #[test]
        fn strings_print_as_serde_json_prints_them(text in any::<String>()) {
            let ours = Json::from(text.as_str()).pretty();
            prop_assert_eq!(&ours, &serde_json::to_string(&text).unwrap());
            prop_assert_eq!(parse(&ours), Some(Json::String(text)));
        }

        #[test]
        fn finite_numbers_read_back(number in prop::num::f64::NORMAL) {
            prop_assert_eq!(parse(&Json::Number(number).pretty()), Some(Json::Number(number)));
        }
    }
}
