//! Field reports about pages as text: frontmatter, line ends, links, ids.
//!
//! Each test takes one line of `tests/data/cases/field-reports.jsonl` and checks the sentences
//! of its `right` that can be decided without a wiki on disk.

use std::collections::BTreeMap;
use std::path::Path;

use llmwiki::id::{PageId, PageIdError, SourceId};
use llmwiki::page::{
    self, Link, Page, PageError, PageErrorKind, PageNames, Resolution, references, resolve,
};
use serde_json::Value;

fn report(id: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/cases/field-reports.jsonl");
    let lines = std::fs::read_to_string(path).unwrap();
    let mut reports = lines
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    reports.find(|report| report["id"] == id).unwrap()
}

/// The pages among a report's files.
struct Pages {
    good: BTreeMap<PageId, Page>,
    bad: Vec<(String, PageError)>,
    names: PageNames,
}

impl Pages {
    fn of(report: &Value) -> Self {
        let mut pages = Self {
            good: BTreeMap::new(),
            bad: Vec::new(),
            names: PageNames::default(),
        };
        for file in report["input"]["files"].as_array().unwrap() {
            let path = file["path"].as_str().unwrap();
            let id = path
                .strip_prefix("pages/")
                .and_then(|path| path.strip_suffix(".md"))
                .unwrap();
            match page::parse_bytes(file["text"].as_str().unwrap().as_bytes()) {
                Ok(page) => {
                    let id = PageId::parse(id).unwrap();
                    pages.names.insert(id.clone(), &page.title);
                    pages.good.insert(id, page);
                }
                Err(error) => pages.bad.push((path.to_owned(), error)),
            }
        }
        pages
    }

    fn links(&self, from: &str) -> Vec<(Link, Resolution)> {
        let from = PageId::parse(from).unwrap();
        let page = &self.good[&from];
        let links = references(&page.body, page.body_start_line)
            .links
            .into_iter();
        links
            .map(|link| {
                let resolution = resolve(&from, &link, &self.names);
                (link, resolution)
            })
            .collect()
    }

    /// All that is wrong with links, as `page:line what`.
    fn link_findings(&self) -> Vec<String> {
        let mut found = Vec::new();
        for id in self.good.keys() {
            for (link, resolution) in self.links(id.as_str()) {
                match resolution {
                    Resolution::Broken(wanted) => {
                        found.push(format!("{id}:{} broken {wanted}", link.line));
                    }
                    Resolution::Escapes => found.push(format!("{id}:{} escapes", link.line)),
                    Resolution::Page(_) | Resolution::NotAPage => {}
                }
            }
        }
        found
    }

    /// Pages that no other page links to.
    fn orphans(&self) -> Vec<&PageId> {
        let is_reached = |id: &&PageId| {
            self.good.keys().filter(|from| from != id).any(|from| {
                let links = self.links(from.as_str());
                links
                    .iter()
                    .any(|(_, to)| *to == Resolution::Page((*id).clone()))
            })
        };
        self.good.keys().filter(|id| !is_reached(id)).collect()
    }
}

#[test]
fn fr_01_an_unquoted_title_is_named_with_its_line() {
    let pages = Pages::of(&report("fr-01"));
    let [(path, error)] = pages.bad.as_slice() else {
        panic!("{:?}", pages.bad)
    };
    assert_eq!(
        (path.as_str(), error.kind),
        ("pages/release.md", PageErrorKind::NotQuoted)
    );
    assert_eq!(
        error.to_string(),
        "line 2: the value of title must be double-quoted"
    );
    assert!(pages.good.contains_key(&PageId::parse("other").unwrap()));
}

#[test]
fn fr_02_only_whole_lines_open_and_close_frontmatter() {
    let report = report("fr-02");
    let upserts: Vec<&Value> = report["input"]["steps"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|step| step["do"] == "upsert_page")
        .collect();
    assert_eq!(upserts.len(), 2);
    for step in upserts {
        let field = |name: &str| step[name].as_str().unwrap();
        let source = SourceId::parse(step["sources"][0].as_str().unwrap()).unwrap();
        let text =
            page::render(field("title"), field("summary"), &[source], field("body")).unwrap();
        let page = page::parse(&text).unwrap();
        assert_eq!(page.body.trim_end(), field("body").trim_end());
        assert_eq!(
            (page.title.as_str(), page.summary.as_str()),
            (field("title"), field("summary"))
        );
        assert!(text.lines().filter(|line| *line == "---").count() >= 2);
    }
}

#[test]
fn fr_03_a_page_with_crlf_reads_like_its_twin() {
    let pages = Pages::of(&report("fr-03"));
    assert_eq!((pages.good.len(), pages.bad.len()), (2, 0));
    assert_eq!(pages.link_findings(), [""; 0]);
    assert!(pages.orphans().is_empty());
    let win = &pages.good[&PageId::parse("win").unwrap()];
    assert!(!win.body.contains('\r'));
    let text = page::render(&win.title, &win.summary, &win.sources, &win.body).unwrap();
    assert_eq!(text.lines().filter(|line| *line == "---").count(), 2);
}

#[test]
fn fr_04_links_in_code_are_no_links() {
    let pages = Pages::of(&report("fr-04"));
    assert_eq!(pages.link_findings(), ["snippets:30 broken missing"]);
    assert_eq!(pages.orphans(), [&PageId::parse("open").unwrap()]);
}

#[test]
fn fr_05_an_escaped_bar_in_a_table_ends_the_target() {
    let pages = Pages::of(&report("fr-05"));
    assert_eq!(pages.link_findings(), [""; 0]);
    assert!(pages.orphans().is_empty());
    let hub = pages.links("hub");
    let seen: Vec<_> = hub
        .iter()
        .map(|(link, _)| (link.target.as_str(), link.label.as_str()))
        .collect();
    assert_eq!(
        seen,
        [("beta", "B"), ("gamma.md", "G"), ("beta", "B again")]
    );
}

#[test]
fn fr_06_targets_are_decoded_once_before_any_check() {
    let pages = Pages::of(&report("fr-06"));
    let home: Vec<Resolution> = pages.links("home").into_iter().map(|(_, to)| to).collect();
    let run = || Resolution::Page(PageId::parse("guides/first run").unwrap());
    assert_eq!(
        home,
        [
            run(),
            run(),
            run(),
            Resolution::Escapes,
            Resolution::Broken("bad%zz".to_owned()),
            Resolution::Broken("guides/first%20run".to_owned()),
        ]
    );
    assert_eq!(pages.link_findings().len(), 3);
}

#[test]
fn fr_08_an_emoji_is_a_name_and_a_heading() {
    let pages = Pages::of(&report("fr-08"));
    assert_eq!((pages.good.len(), pages.bad.len()), (2, 0));
    let (id, elephant) = pages
        .good
        .iter()
        .find(|(id, _)| !id.as_str().is_ascii())
        .expect("the emoji page");
    assert_eq!(id.as_str(), elephant.title);
    let sections = page::sections(&elephant.body, elephant.body_start_line);
    let texts: Vec<&str> = sections
        .iter()
        .map(|section| &elephant.body[section.text.clone()])
        .collect();
    assert_eq!(
        texts,
        [
            "The tusk archive.",
            "Launch list.\n\nSee [plain](plain.md)."
        ]
    );
}

#[test]
fn fr_09_backslashes_and_drive_letters_are_refused() {
    let report = report("fr-09");
    let steps = report["input"]["steps"].as_array().unwrap();
    let ids: Vec<&str> = steps
        .iter()
        .filter_map(|step| step["id"].as_str())
        .collect();
    assert_eq!(ids.len(), 3);
    for id in ids {
        assert!(matches!(PageId::parse(id), Err(PageIdError { .. })), "{id}");
    }
}
