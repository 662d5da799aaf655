//! Prompts: pieces of work that a person can start from their host by name.

use std::collections::BTreeMap;

use rmcp::model::{GetPromptResult, Prompt, PromptArgument, PromptMessage, Role};

/// One prompt.
struct Entry {
    name: &'static str,
    title: &'static str,
    description: &'static str,
    /// Name, what it is, whether it must be given.
    arguments: &'static [(&'static str, &'static str, bool)],
    /// Its text; `{name}` stands for an argument.
    text: &'static str,
}

const PROMPTS: &[Entry] = &[
    Entry {
        name: "ingest_source",
        title: "Take in a source",
        description: "Preserve a document as evidence, and bring the pages up to date with it",
        arguments: &[
            (
                "source",
                "What to take in: a file, a URL, or the text itself",
                true,
            ),
            ("focus", "What matters about it", false),
        ],
        text: "\
Take this into the wiki as evidence: {source}
What matters about it: {focus}

1. Call llmwiki_status and follow what its schemaText says about this wiki.
2. Get the whole text yourself. Preserve it unchanged with llmwiki_add_source; give where it came \
from as origin. deduplicated: true means that the wiki has it already.
3. Search for each thing that the source speaks of. Read the pages that exist before you plan new \
ones.
4. List the claims that are new, that change a page, or that contradict one. Name the lines of the \
source for each.
5. Write with llmwiki_upsert_page: change pages that exist (with expectedSha256), make new ones \
only for what has none. Keep the sources that the old claims rest on, and cite lines as \
[words](llmwiki://source/ID#L10-L12). Where sources disagree, say so on the page.
6. Call llmwiki_lint, and mend what your own writes caused.
End with the pages you wrote and why, and with what you left alone.",
    },
    Entry {
        name: "answer_with_citations",
        title: "Answer from the wiki",
        description: "Answer a question from the wiki's evidence alone, each claim cited",
        arguments: &[("question", "The question", true)],
        text: "\
Answer from this wiki: {question}

1. Search with llmwiki_search, in more than one wording if the first finds little.
2. Read the pages that matter, and open the sources behind each claim that you will make.
3. Answer in a few sentences. Put the citation behind each claim: the page, and the lines of the \
source as llmwiki://source/ID#L10-L12. Cite only what you opened.
4. What the wiki does not say, say that it does not say. Keep your own knowledge apart and marked.
5. Where a page and its source differ, follow the source and report the page.
Change nothing.",
    },
    Entry {
        name: "lint_and_plan",
        title: "Check the wiki and plan repairs",
        description: "Run lint, group what it finds, and propose repairs without making any",
        arguments: &[],
        text: "\
Check this wiki and propose repairs. Change nothing.

1. Call llmwiki_lint. When the answer was cut, go on with paths or only until you have seen every \
code.
2. Group the findings by cause rather than by code: one missing source can break many pages.
3. For each group give: what is wrong, what it endangers, the repair as exact tool calls, and what \
could go wrong with the repair. Errors first.
4. Say which repairs a person must decide, such as contradicting sources or deleted evidence.
End with the order in which you would do it, and wait for a yes.",
    },
    Entry {
        name: "refresh_stale_pages",
        title: "Refresh stale pages",
        description: "Find pages that newer evidence has overtaken, and bring them up to date",
        arguments: &[("prefix", "Only pages whose id starts with this", false)],
        text: "\
Find pages of this wiki that newer evidence has overtaken, and bring them up to date. Only pages \
whose id starts with: {prefix}

1. Call llmwiki_lint with all: true and look for SOURCE_SUPERSEDED, SOURCE_UNCITED and broken \
links. Call llmwiki_list_pages for the rest.
2. For each page, compare what it says with its sources, and with newer sources on the same thing.
3. Before you write, list the pages with the claim that changes and the lines that show it. Leave \
out pages where only the wording would change.
4. Write with llmwiki_upsert_page and expectedSha256. Keep what still holds, and say in message \
why. CONFLICT means that somebody else was there: read again, merge, write again.
End with what changed, and with what nobody can know without new evidence.",
    },
];

/// Every prompt.
pub(super) fn listed() -> Vec<Prompt> {
    PROMPTS
        .iter()
        .map(|entry| {
            let arguments = entry
                .arguments
                .iter()
                .map(|&(name, description, required)| {
                    PromptArgument::new(name)
                        .with_description(description)
                        .with_required(required)
                })
                .collect::<Vec<_>>();
            let arguments = (!arguments.is_empty()).then_some(arguments);
            Prompt::new(entry.name, Some(entry.description), arguments).with_title(entry.title)
        })
        .collect()
}

/// A prompt with its arguments filled in.
///
/// # Errors
/// A sentence naming the prompt or argument that is unknown or missing.
pub(super) fn fill(
    name: &str,
    arguments: &BTreeMap<String, String>,
) -> Result<GetPromptResult, String> {
    let entry = PROMPTS
        .iter()
        .find(|entry| entry.name == name)
        .ok_or_else(|| format!("there is no prompt {name:?}"))?;
    if let Some(unknown) = arguments
        .keys()
        .find(|key| !entry.arguments.iter().any(|(name, ..)| name == key))
    {
        return Err(format!("prompt {name} takes no argument {unknown:?}"));
    }
    let mut text = String::new();
    for line in entry.text.split_inclusive('\n') {
        let Some((argument, _, required)) = entry
            .arguments
            .iter()
            .find(|(argument, ..)| line.contains(&format!("{{{argument}}}")))
        else {
            text.push_str(line);
            continue;
        };
        match arguments.get(*argument).filter(|it| !it.trim().is_empty()) {
            Some(value) => text.push_str(&line.replace(&format!("{{{argument}}}"), value)),
            None if *required => {
                return Err(format!("prompt {name} needs the argument {argument}"));
            }
            // What nobody said is not asked about.
            None => text.push_str(&without_sentence(line, argument)),
        }
    }
    let message = PromptMessage::new_text(Role::User, text);
    Ok(GetPromptResult::new(vec![message]).with_description(entry.description))
}

/// A line without the sentence that ends in an argument.
fn without_sentence(line: &str, argument: &str) -> String {
    let kept = line.split(&format!("{{{argument}}}")).next().unwrap_or("");
    match kept.rfind(". ") {
        Some(end) => format!("{}\n", &kept[..=end]),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(name: &str, arguments: &[(&str, &str)]) -> Result<String, String> {
        let arguments = arguments
            .iter()
            .map(|&(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        let result = fill(name, &arguments)?;
        let value = serde_json::to_value(&result.messages[0].content).unwrap();
        Ok(value["text"].as_str().unwrap().to_owned())
    }

    #[test]
    fn a_prompt_takes_its_arguments_and_leaves_out_what_nobody_said() {
        let both = text("ingest_source", &[("source", "a.txt"), ("focus", "dates")]).unwrap();
        assert!(both.starts_with(
            "Take this into the wiki as evidence: a.txt\nWhat matters about it: dates\n"
        ));
        let one = text("ingest_source", &[("source", "a.txt")]).unwrap();
        assert!(
            one.starts_with("Take this into the wiki as evidence: a.txt\n\n1. "),
            "{one}"
        );
        let none = text("refresh_stale_pages", &[]).unwrap();
        assert!(
            none.contains("up to date.\n\n1. ") && !none.contains("starts with"),
            "{none}"
        );
        let prefix = text("refresh_stale_pages", &[("prefix", "guides/")]).unwrap();
        assert!(prefix.contains("starts with: guides/\n"));
    }

    #[test]
    fn what_does_not_fit_is_refused_by_name() {
        assert!(text("sing", &[]).unwrap_err().contains("sing"));
        assert!(
            text("answer_with_citations", &[])
                .unwrap_err()
                .contains("question")
        );
        let error = text("lint_and_plan", &[("loud", "yes")]).unwrap_err();
        assert!(error.contains("loud"), "{error}");
    }

    #[test]
    fn prompts_name_only_tools_that_there_are() {
        let tools: Vec<_> = crate::ops::OPERATIONS
            .iter()
            .filter_map(|it| it.mcp)
            .collect();
        for entry in PROMPTS {
            for word in entry
                .text
                .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            {
                if word.starts_with("llmwiki_") {
                    assert!(tools.contains(&word), "{}: {word}", entry.name);
                }
            }
            for code in entry
                .text
                .split(|c: char| !c.is_ascii_uppercase() && c != '_')
            {
                if code.contains('_') && code.len() > 8 {
                    assert!(crate::lint::rule(code).is_some(), "{}: {code}", entry.name);
                }
            }
        }
    }
}
