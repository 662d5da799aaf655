//! `PAGE_INVALID_PATH`: a file below `pages/` whose path is no page id followed by `.md`, or that is
//! no regular file. Directories are no fault, symbolic links belong to `UNSAFE_SYMLINK`.
use crate::lint::facts::{PageFile, PageName};
use crate::lint::{Check, Code, Facts, Rule, Severity, Sink};

pub(crate) static RULE: Rule = Rule {
    code: Code::new("PAGE_INVALID_PATH"),
    severity: Severity::Error,
    on_request: false,
    meaning: "a path below pages/ names no page",
    hint: "rename the file to a page id followed by .md, or move it out of pages/",
    bad: "pages/notes.txt",
    good: "pages/notes.md",
    check: Check::Wiki(check),
};

fn check(facts: &Facts, sink: &mut Sink) {
    for page in &facts.pages {
        match (&page.name, &page.file) {
            (PageName::Invalid(reason), _) => sink.report(&RULE, &page.path, reason.clone()),
            (PageName::Id(_), PageFile::NotFile(kind)) => {
                sink.report(&RULE, &page.path, format!("is {kind}, not a file"));
            }
            (PageName::Id(_), _) => {}
        }
    }
    for (path, reason) in &facts.unreadable_directories {
        sink.report(&RULE, path, format!("cannot be listed: {reason}"));
    }
}

#[cfg(test)]
mod tests {
    use crate::lint::testing::{assert_reports, page, page_named, sound_wiki};
    use crate::tree::Kind;

    #[test]
    fn fires_on_names_that_are_no_page_id() {
        for name in [
            "note.txt",
            "note.MD",
            ".md",
            "c:.md",
            "..md",
            "...md",
            ".gitkeep",
            "a%b/x.md",
            "c:/x.md",
            "x.md/y.md",
            "back\\slash.md",
            "CON.md",
        ] {
            assert_reports(&super::RULE, page_named(name), 1);
        }
        for name in [" .md", "\u{fc}.md", "sub/beta.md", "a.b.md"] {
            assert_reports(&super::RULE, page_named(name), 0);
        }
    }

    #[test]
    fn fires_on_a_pipe_with_the_name_of_a_page() {
        let mut facts = sound_wiki();
        let mut pipe = page("alpha", "A", "x");
        pipe.file = crate::lint::facts::PageFile::NotFile(Kind::Fifo);
        facts.pages.push(pipe);
        assert_reports(&super::RULE, facts, 1);
    }
}
