//! Words of a query that begin with a minus, as in `llmwiki search tide -storm`. The parser of
//! arguments would take them for clusters of short options; they are handed to it behind `--`,
//! where everything is a word. What is an option of the command stays one.

use std::ffi::OsString;

use clap::{Arg, ArgAction, Command};

/// The commands whose arguments are words of a query.
const COMMANDS: [&str; 3] = ["search", "ask", "ask-projects"];
/// Short options that every parser makes by itself.
const OWN_SHORTS: [char; 2] = ['h', 'V'];

/// Moves words that begin with a minus behind the options of a query.
pub(crate) fn behind_options(arguments: Vec<OsString>, parser: &Command) -> Vec<OsString> {
    let globals: Vec<&Arg> = parser.get_arguments().collect();
    let mut at = 1;
    let command = loop {
        let Some(word) = arguments.get(at).and_then(|word| word.to_str()) else {
            return arguments;
        };
        match role(word, &globals) {
            Role::End | Role::Minus => return arguments,
            Role::Option => at += 1,
            Role::OptionWithValue => at += 2,
            Role::Word => break parser.find_subcommand(word),
        }
    };
    let Some(command) = command.filter(|command| COMMANDS.contains(&command.get_name())) else {
        return arguments;
    };
    let options: Vec<&Arg> = globals.into_iter().chain(command.get_arguments()).collect();
    let (mut words, mut behind) = (Vec::new(), Vec::new());
    let mut rest = arguments.into_iter();
    words.extend(rest.by_ref().take(at + 1));
    while let Some(word) = rest.next() {
        match word
            .to_str()
            .map_or(Role::Word, |text| role(text, &options))
        {
            Role::End => {
                behind.extend(rest);
                break;
            }
            Role::Minus => behind.push(word),
            Role::Word | Role::Option => words.push(word),
            Role::OptionWithValue => {
                words.push(word);
                words.extend(rest.next());
            }
        }
    }
    if !behind.is_empty() {
        words.push("--".into());
        words.append(&mut behind);
    }
    words
}

/// What an argument is.
enum Role {
    /// `--`
    End,
    Word,
    Option,
    /// An option whose value is the next argument.
    OptionWithValue,
    /// A word that begins with a minus.
    Minus,
}

fn role(word: &str, options: &[&Arg]) -> Role {
    if word == "--" {
        return Role::End;
    }
    if let Some(long) = word.strip_prefix("--") {
        let with_value = options
            .iter()
            .any(|option| option.get_long() == Some(long) && takes_value(option));
        return if with_value {
            Role::OptionWithValue
        } else {
            Role::Option
        };
    }
    let Some(cluster) = word.strip_prefix('-').filter(|rest| !rest.is_empty()) else {
        return Role::Word;
    };
    for (place, short) in cluster.char_indices() {
        let known = options
            .iter()
            .find(|option| option.get_short() == Some(short));
        match known {
            None if OWN_SHORTS.contains(&short) => {}
            None => return Role::Minus,
            Some(option) if takes_value(option) => {
                let value = &cluster[place + short.len_utf8()..];
                let value = value.strip_prefix('=').unwrap_or(value);
                // The values of the short options of these commands are numbers.
                return match value {
                    "" => Role::OptionWithValue,
                    value if value.bytes().all(|byte| byte.is_ascii_digit()) => Role::Option,
                    _ => Role::Minus,
                };
            }
            Some(_) => {}
        }
    }
    Role::Option
}

fn takes_value(option: &Arg) -> bool {
    matches!(option.get_action(), ArgAction::Set | ArgAction::Append)
}

#[cfg(test)]
mod tests {
    use super::super::commands::parser;
    use super::*;

    fn check(line: &str, expected: &str) {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let words = behind_options(words, &parser());
        assert_eq!(words.join(" ".as_ref()), expected);
    }

    #[test]
    fn words_with_a_minus_go_behind_the_options() {
        check(
            "llmwiki search tide -storm",
            "llmwiki search tide -- -storm",
        );
        check(
            "llmwiki search -storm tide --json -n 5 -q",
            "llmwiki search tide --json -n 5 -q -- -storm",
        );
        check(
            "llmwiki --root x -v search -id:old tide -n5",
            "llmwiki --root x -v search tide -n5 -- -id:old",
        );
        check(
            "llmwiki search a -news -very",
            "llmwiki search a -- -news -very",
        );
        check("llmwiki ask why -5 -k 3", "llmwiki ask why -k 3 -- -5");
        check(
            "llmwiki search a -b -- -q --in",
            "llmwiki search a -- -b -q --in",
        );
    }

    #[test]
    fn options_and_other_commands_are_left_alone() {
        for line in [
            "llmwiki",
            "llmwiki search",
            "llmwiki search tide --limit -5",
            "llmwiki search tide -vq --in code -h",
            "llmwiki search - --set a=-b",
            "llmwiki read-page -x",
            "llmwiki -x search -y",
            "llmwiki history -n",
            "llmwiki -- search -x",
        ] {
            check(line, line);
        }
    }
}
