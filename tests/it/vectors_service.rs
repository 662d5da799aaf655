//! Families `source_read`, `search` and `service_errors`: scenarios on one wiki, run through
//! `ops::OPERATIONS` as any JSON door runs them, under the `classic` analysis.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use llmwiki::config::Config;
use llmwiki::context::{Context, SystemClock};
use llmwiki::error::ErrorCode;
use llmwiki::id::SourceId;
use llmwiki::lint::{LintOptions, run as run_lint};
use llmwiki::ops::OPERATIONS;
use llmwiki::page;
use llmwiki::search::Analysis;
use llmwiki::wiki::Wiki;
use serde_json::{Value, json};

use crate::lint_trees::put;
use crate::vectors::{Exceptions, Failures, cases, folder, has_lone_surrogates, id, load};

/// A wiki in an empty folder, and the context that its configuration asks for.
struct Service {
    _dir: tempfile::TempDir,
    root: PathBuf,
    wiki: Wiki,
    ctx: Context,
}

impl Service {
    fn new(config: &Value) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("wiki");
        let mut settings = Config {
            analysis: Analysis::Classic,
            ..Config::default()
        };
        let set = |key: &str, place: &mut u64| {
            if let Some(value) = config[key].as_u64() {
                *place = value;
            }
        };
        set("maxSourceBytes", &mut settings.limits.max_source_bytes);
        set("maxPageBytes", &mut settings.limits.max_page_bytes);
        if let Some(value) = config["maxResults"].as_u64() {
            settings.limits.max_results = usize::try_from(value).unwrap();
        }
        if let Some(value) = config["maxSnippetBytes"].as_u64() {
            settings.limits.max_snippet_bytes = usize::try_from(value).unwrap();
        }
        let ctx = Context::new(Arc::new(SystemClock), settings.limits.clone());
        let wiki = Wiki::new(&root, settings);
        Self {
            _dir: dir,
            root,
            wiki,
            ctx,
        }
    }

    /// Runs a step; a failure is the code.
    fn call(&self, op: &str, args: &Value) -> Result<Value, ErrorCode> {
        let name = match op {
            "addSource" => "add-source",
            "readSource" => "read-source",
            "readPage" => "read-page",
            "upsertPage" => "upsert-page",
            "search" => "search",
            "reindex" => "reindex",
            "status" => "status",
            "lint" => {
                let report = run_lint(&self.root, &self.ctx, &LintOptions::default());
                return report
                    .map(|report| serde_json::to_value(&report).unwrap())
                    .map_err(|error| error.code());
            }
            other => panic!("unknown step {other}"),
        };
        let operation = OPERATIONS
            .iter()
            .find(|operation| operation.name == name)
            .unwrap();
        (operation.run)(args.clone(), &self.wiki, &self.ctx).map_err(|error| error.code())
    }
}

/// Whether two scores are the same but for the last bits of a logarithm.
fn same_score(ours: &Value, expected: &Value) -> bool {
    let (ours, expected) = (ours.as_f64().unwrap(), expected.as_f64().unwrap());
    (ours - expected).abs() <= expected.abs() * 1e-12
}

/// Whether our value holds all that is expected; more keys may follow.
fn holds(ours: &Value, expected: &Value) -> bool {
    match (ours, expected) {
        (Value::Object(ours), Value::Object(expected)) => expected.iter().all(|(key, value)| {
            key == "snippet"
                || ours.get(key).is_some_and(|ours| match key.as_str() {
                    "score" => same_score(ours, value),
                    _ => holds(ours, value),
                })
        }),
        (Value::Array(ours), Value::Array(expected)) => {
            ours.len() == expected.len()
                && ours
                    .iter()
                    .zip(expected)
                    .all(|(ours, expected)| holds(ours, expected))
        }
        _ => ours == expected,
    }
}

// ---- source_read ----

#[test]
fn vectors_source_read() {
    let Some(family) = load("source_read.json") else {
        return;
    };
    let exceptions = Exceptions::of("source_read");
    let mut failures = Failures::default();
    let service = Service::new(&family["config"]);
    let mut ids = std::collections::HashMap::new();
    for source in family["sources"].as_array().unwrap() {
        let args = json!({ "name": source["key"], "content": source["content"] });
        match service.call("addSource", &args) {
            Ok(report) => assert_eq!(report["id"], source["id"]),
            // Empty content is refused; its cases are a rule of their own.
            Err(code) => assert_eq!(
                (code, &source["byteCount"]),
                (ErrorCode::InvalidArgument, &json!(0))
            ),
        }
        ids.insert(source["key"].clone(), source.clone());
    }
    for case in cases("source_read.json") {
        let source = &ids[&case["source"]];
        let mut args = json!({ "id": source["id"] });
        for key in ["offset", "limit"] {
            if !case[key].is_null() {
                args[key] = case[key].clone();
            }
        }
        let ours = service.call("readSource", &args);
        let mut kinds = Vec::new();
        let agrees = match &ours {
            Ok(report) => {
                let text = report["content"].as_str().unwrap();
                let whole = source["content"].as_str().unwrap();
                let (start, end) = (index(&report["byteStart"]), index(&report["byteEnd"]));
                assert_eq!(
                    text,
                    &whole[start..end],
                    "{}: the bytes are those of the range",
                    id(&case)
                );
                let expected_start = case["byteStart"]
                    .as_u64()
                    .map(|at| usize::try_from(at).unwrap());
                if case["ok"] == true
                    && expected_start == Some(start)
                    && case["byteStart"] == case["byteEnd"]
                    && end > start
                {
                    kinds.push("moves_on");
                }
                if case["ok"] == true
                    && whole[start..].starts_with('\u{feff}')
                    && text.ends_with(case["content"].as_str().unwrap())
                {
                    kinds.push("keeps_bom");
                }
                case["ok"] == true
                    && report["content"] == case["content"]
                    && ["byteStart", "byteEnd", "byteCount"]
                        .iter()
                        .all(|key| report[key] == case[key])
            }
            Err(code) => {
                if *code == ErrorCode::InvalidArgument
                    && has_number_out_of_type(&args)
                    && case["ok"] == false
                {
                    kinds.push("number_out_of_type");
                }
                if *code == ErrorCode::SourceNotFound && source["byteCount"] == 0 {
                    kinds.push("empty_source");
                }
                case["error"]["code"] == code.as_str()
            }
        };
        if !agrees && !exceptions.covers(id(&case), &kinds) {
            failures.note(id(&case), format!("{ours:?}, expected {case}"));
        }
    }
    failures.check();
    exceptions.check_all_used();
}

fn index(value: &Value) -> usize {
    usize::try_from(value.as_u64().unwrap()).unwrap()
}

/// Whether a count in the arguments is no whole number from 0 up, which our types cannot hold.
fn has_number_out_of_type(args: &Value) -> bool {
    ["offset", "limit"]
        .iter()
        .any(|key| !args[key].is_null() && args[key].as_u64().is_none())
}

// ---- search ----

#[test]
fn vectors_search() {
    let dir = folder().join("search");
    let Ok(entries) = std::fs::read_dir(&dir) else {
        eprintln!("skipped: no vectors at {}", dir.display());
        return;
    };
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let exceptions = Exceptions::of("search");
    let mut failures = Failures::default();
    for file in files {
        let family: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        let wiki = &family["wiki"];
        let service = Service::new(&wiki["config"]);
        service.wiki.init(&service.ctx).unwrap();
        for source in wiki["sources"].as_array().unwrap() {
            let args = json!({ "name": source["name"], "content": source["content"] });
            service.call("addSource", &args).unwrap();
        }
        for page in wiki["pages"].as_array().unwrap() {
            if let Err(code) = service.call("upsertPage", page) {
                // A pair that differs by case or normalisation is not made by us, but read.
                assert_eq!(code, ErrorCode::InvalidPath, "{page}");
                assert!(exceptions.covers("", &["case_pair"]));
                write_page(&service.root, page);
            }
        }
        for case in family["cases"].as_array().unwrap() {
            let mut args = json!({ "query": case["query"] });
            if !case["limit"].is_null() {
                args["limit"] = case["limit"].clone();
            }
            let ours = service.call("search", &args);
            let agrees = match &ours {
                Ok(report) => case["ok"] == true && holds(&report["hits"], &case["hits"]),
                Err(code) => case["error"]["code"] == code.as_str(),
            };
            let mut kinds = Vec::new();
            if has_number_out_of_type(&args)
                && ours
                    .as_ref()
                    .is_err_and(|code| *code == ErrorCode::InvalidArgument)
                && case["ok"] == false
            {
                kinds.push("number_out_of_type");
            }
            if !agrees && !exceptions.covers(id(case), &kinds) {
                failures.note(id(case), format!("{ours:?}, expected {case}"));
            }
        }
        let expected = wiki["index"]["documentCount"].as_u64();
        let status = service.call("status", &json!({})).unwrap();
        if expected.is_some() && !wiki["pages"].as_array().unwrap().is_empty() {
            assert_eq!(
                status["index"]["sectionCount"].as_u64(),
                expected,
                "{}",
                file.display()
            );
        }
    }
    failures.check();
    exceptions.check_all_used();
}

/// Puts a page into the tree behind the product's back.
fn write_page(root: &Path, page: &Value) {
    let text = |key: &str| page[key].as_str().unwrap();
    let sources: Vec<SourceId> = page["sources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|id| id.as_str().unwrap().parse().unwrap())
        .collect();
    let markdown = page::render(text("title"), text("summary"), &sources, text("body")).unwrap();
    let path = root.join(format!("pages/{}.md", text("id")));
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, markdown).unwrap();
}

// ---- service_errors ----

/// Paths and kinds below the root, depth first in code-unit order, without what the product may
/// add: `.index`, `.store` and `.gitattributes`.
fn tree_of(root: &Path) -> Vec<(String, &'static str)> {
    fn visit(dir: &Path, prefix: &str, out: &mut Vec<(String, &'static str)>) {
        let Ok(entries) = std::fs::read_dir(dir) else {
            return;
        };
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort_by(|a, b| a.encode_utf16().cmp(b.encode_utf16()));
        for name in names {
            let path = format!("{prefix}{name}");
            if [".index", ".store", ".gitattributes"].contains(&path.as_str()) {
                continue;
            }
            let kind = std::fs::symlink_metadata(dir.join(&name))
                .unwrap()
                .file_type();
            let word = if kind.is_symlink() {
                "symlink"
            } else if kind.is_dir() {
                "dir"
            } else if kind.is_file() {
                "file"
            } else {
                "fifo"
            };
            out.push((path.clone(), word));
            if kind.is_dir() {
                visit(&dir.join(&name), &format!("{path}/"), out);
            }
        }
    }
    let mut out = Vec::new();
    visit(root, "", &mut out);
    out
}

fn expected_tree(case: &Value) -> Vec<(String, &str)> {
    case["treeAfter"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| {
            (
                entry["path"].as_str().unwrap().to_owned(),
                entry["kind"].as_str().unwrap(),
            )
        })
        .filter(|(path, _)| {
            path != ".gitattributes" && !is_below(path, ".index") && !is_below(path, ".store")
        })
        .collect()
}

fn is_below(path: &str, top: &str) -> bool {
    path == top
        || path
            .strip_prefix(top)
            .is_some_and(|rest| rest.starts_with('/'))
}

/// A step and how it went.
struct Outcome<'a> {
    step: &'a Value,
    ours: Result<Value, ErrorCode>,
}

impl Outcome<'_> {
    fn op(&self) -> &str {
        self.step["op"].as_str().unwrap()
    }

    fn agrees(&self) -> bool {
        let expected = &self.step["result"];
        match &self.ours {
            Err(code) => self.step["error"]["code"] == code.as_str(),
            Ok(_) if self.step["ok"] != true => false,
            Ok(ours) => match self.op() {
                "search" => holds(&ours["hits"], expected),
                "status" => {
                    let schema = match expected["schemaText"].as_str() {
                        Some("<default schema>") => ours["schemaText"]
                            .as_str()
                            .is_some_and(|text| text.starts_with("# ")),
                        _ => ours["schemaText"] == expected["schemaText"],
                    };
                    schema
                        && ["initialized", "sourceCount", "pageCount"]
                            .iter()
                            .all(|key| ours[key] == expected[key])
                }
                "reindex" => ["pageCount", "sectionCount"]
                    .iter()
                    .all(|key| ours[key] == expected[key]),
                "lint" => diagnostics(ours, false) == diagnostics(expected, false),
                "readSource" => {
                    let mut expected = expected.clone();
                    if let Some(metadata) = expected["metadata"].as_object_mut() {
                        metadata.remove("capturedAt");
                    }
                    holds(ours, &expected)
                }
                _ => holds(ours, expected),
            },
        }
    }
}

/// Code and path of each diagnostic. Those of the index are compared only on demand, since ours
/// lives in the store.
fn diagnostics(report: &Value, with_index: bool) -> Vec<(String, String)> {
    report["diagnostics"]
        .as_array()
        .unwrap()
        .iter()
        .map(|found| {
            (
                found["code"].as_str().unwrap().to_owned(),
                found["path"].as_str().unwrap().to_owned(),
            )
        })
        .filter(|(code, _)| with_index || !code.starts_with("INDEX_"))
        .collect()
}

/// The deviations that this case shows, each only if we did what its rule says.
fn kinds(
    case: &Value,
    before: &[(String, &str)],
    after: &[(String, &str)],
    outcomes: &[Outcome<'_>],
) -> Vec<&'static str> {
    let entries = case["entries"].as_array().unwrap();
    let path = |entry: &Value| entry["path"].as_str().unwrap().to_owned();
    let differing: Vec<&Outcome<'_>> = outcomes
        .iter()
        .filter(|outcome| !outcome.agrees())
        .collect();
    // Every step that differs does so in this way, and there is one.
    let all = |test: &dyn Fn(&Outcome<'_>) -> bool| {
        !differing.is_empty() && differing.iter().all(|outcome| test(outcome))
    };
    let tree_differs = after != expected_tree(case);
    let reads = |op: &str| {
        matches!(
            op,
            "status" | "search" | "readPage" | "readSource" | "reindex" | "lint"
        )
    };
    let mut kinds = Vec::new();

    // Reading makes no wiki, nor completes one, and a write that is refused makes none either:
    // the tree is as it was, and what differs says no more than that.
    let nothing_written = outcomes
        .iter()
        .all(|outcome| reads(outcome.op()) || outcome.ours.is_err());
    let says_so = |outcome: &Outcome<'_>| match &outcome.ours {
        Err(code) => *code == ErrorCode::NotInitialized,
        Ok(report) => match outcome.op() {
            "status" => report["initialized"] == false || report["schemaText"].is_null(),
            "lint" => diagnostics(report, true).iter().all(|(code, _)| {
                matches!(
                    code.as_str(),
                    "ROOT_MISSING"
                        | "REQUIRED_DIRECTORY_MISSING"
                        | "SCHEMA_MISSING"
                        | "INDEX_MISSING"
                )
            }),
            _ => false,
        },
    };
    if nothing_written && before == after && (all(&says_so) || differing.is_empty() && tree_differs)
    {
        kinds.push("reading_creates_nothing");
    }

    // Something in the place of a page that is no plain file stops no call.
    let odd_page = entries.iter().any(|entry| {
        is_below(&path(entry), "pages")
            && (entry["kind"] == "fifo" || entry["kind"] == "dir" && path(entry).ends_with(".md"))
    });
    if odd_page && all(&|outcome| outcome.ours.is_ok() && reads(outcome.op())) {
        kinds.push("special_file_stops_nothing");
    }

    // One bad page or one bad name stops no call.
    if all(&|outcome| {
        matches!(outcome.op(), "search" | "reindex")
            && outcome.ours.is_ok()
            && matches!(
                outcome.step["error"]["code"].as_str(),
                Some("INVALID_PAGE" | "INVALID_PATH")
            )
    }) {
        kinds.push("one_bad_page_stops_nothing");
    }

    // The version 1 index is never read to answer.
    let odd_index = entries
        .iter()
        .any(|entry| is_below(&path(entry), ".index") && entry["kind"] != "file");
    if odd_index
        && all(&|outcome| {
            reads(outcome.op()) && outcome.ours.is_ok() && outcome.step["ok"] == false
        })
    {
        kinds.push("v1_index_not_read");
    }

    // A folder of a source that a crash left incomplete stops no status, and is completed.
    let half_source = entries.iter().any(|entry| {
        let path = path(entry);
        let Some(folder) = path.rsplit_once('/').map(|(folder, _)| folder) else {
            return false;
        };
        is_below(folder, "sources") && folder != "sources" && {
            let has = |name: &str| {
                entries
                    .iter()
                    .any(|other| other["path"] == format!("{folder}/{name}"))
            };
            !(has("content") && has("metadata.json"))
        }
    }) || entries.iter().any(|entry| {
        entry["kind"] == "dir" && is_below(&path(entry), "sources") && path(entry) != "sources"
    });
    if half_source
        && all(&|outcome| {
            matches!(outcome.op(), "status" | "addSource" | "search" | "reindex")
                && outcome.ours.is_ok()
        })
    {
        kinds.push("half_source_heals");
    }

    // Empty content is refused, and what follows from that.
    let empty = outcomes
        .iter()
        .any(|outcome| outcome.op() == "addSource" && outcome.step["args"]["content"] == "");
    if empty
        && all(&|outcome| {
            matches!(
                outcome.ours,
                Err(ErrorCode::InvalidArgument
                    | ErrorCode::SourceNotFound
                    | ErrorCode::NotInitialized)
            ) || outcome.op() == "status"
        })
    {
        kinds.push("empty_content_refused");
    }

    // Bytes come back as they are.
    if all(&|outcome| {
        let text = |value: &Value| {
            value["content"]
                .as_str()
                .or(value["markdown"].as_str())
                .map(str::to_owned)
        };
        match (&outcome.ours, text(&outcome.step["result"])) {
            (Ok(ours), Some(theirs)) => {
                text(ours).is_some_and(|ours| ours.trim_start_matches('\u{feff}') == theirs)
            }
            _ => false,
        }
    }) {
        kinds.push("bom_comes_back");
    }

    // The capture of known bytes is noted as an event.
    let again = outcomes.iter().any(|outcome| {
        outcome.op() == "addSource"
            && outcome
                .ours
                .as_ref()
                .is_ok_and(|report| report["deduplicated"] == true)
    });
    let without_events: Vec<_> = after
        .iter()
        .filter(|(path, _)| !path.ends_with("/events.jsonl"))
        .cloned()
        .collect();
    if again && differing.is_empty() && without_events == expected_tree(case) {
        kinds.push("recapture_is_noted");
    }

    // Ids that cannot be stored everywhere, and ids that brick a wiki, are refused.
    let refused = |outcome: &Outcome<'_>| {
        outcome.op() == "upsertPage"
            && outcome
                .ours
                .as_ref()
                .is_err_and(|code| *code == ErrorCode::InvalidPath)
    };
    let refused_id = |outcome: &Outcome<'_>| {
        outcomes
            .iter()
            .any(|other| refused(other) && other.step["args"]["id"] == outcome.step["args"]["id"])
    };
    if outcomes.iter().any(refused)
        && all(&|outcome| {
            refused(outcome)
                || refused_id(outcome) && outcome.op() == "readPage"
                || matches!(outcome.op(), "status" | "search" | "reindex" | "lint")
                    && outcome.ours.is_ok()
                || outcome.op() == "upsertPage"
                    && outcome.ours.is_ok()
                    && outcome.step["error"]["code"] == "UNSAFE_FILESYSTEM"
        })
    {
        kinds.push("unstorable_id_refused");
    }

    // An error means that nothing was written.
    let refused_both = outcomes.iter().any(|outcome| {
        outcome.op() == "upsertPage" && outcome.ours.is_err() && outcome.step["ok"] == false
    });
    if refused_both && differing.is_empty() && before_pages(before) == before_pages(after) {
        kinds.push("error_writes_nothing");
    }

    // Counts that our types cannot hold are refused at the border.
    if all(&|outcome| {
        has_number_out_of_type(&outcome.step["args"])
            && matches!(outcome.ours, Err(ErrorCode::InvalidArgument))
            && outcome.step["ok"] == false
    }) {
        kinds.push("number_out_of_type");
    }
    kinds
}

fn before_pages(tree: &[(String, &str)]) -> Vec<String> {
    tree.iter()
        .map(|(path, _)| path.clone())
        .filter(|path| path.ends_with(".md") && is_below(path, "pages"))
        .collect()
}

#[test]
fn vectors_service_errors() {
    let exceptions = Exceptions::of("service_errors");
    let mut failures = Failures::default();
    for case in cases("service_errors.json") {
        if has_lone_surrogates(&case) {
            continue;
        }
        let service = Service::new(&case["config"]);
        put(&service.root, case["entries"].as_array().unwrap());
        let before = tree_of(&service.root);
        let outcomes: Vec<Outcome<'_>> = case["steps"]
            .as_array()
            .unwrap()
            .iter()
            .map(|step| Outcome {
                step,
                ours: service.call(step["op"].as_str().unwrap(), &step["args"]),
            })
            .collect();
        let after = tree_of(&service.root);
        let same_tree = after == expected_tree(&case);
        if same_tree && outcomes.iter().all(Outcome::agrees) {
            continue;
        }
        let kinds = kinds(&case, &before, &after, &outcomes);
        if exceptions.covers(id(&case), &kinds) {
            continue;
        }
        let steps: Vec<String> = outcomes
            .iter()
            .filter(|outcome| !outcome.agrees())
            .map(|outcome| {
                format!(
                    "{} gave {:?}, expected {}",
                    outcome.op(),
                    outcome.ours,
                    if outcome.step["ok"] == true {
                        &outcome.step["result"]
                    } else {
                        &outcome.step["error"]
                    }
                )
            })
            .collect();
        failures.note(
            id(&case),
            format!(
                "{} ({kinds:?}): {steps:#?}{}",
                case["name"],
                if same_tree {
                    String::new()
                } else {
                    format!(" tree {after:?}, expected {:?}", expected_tree(&case))
                }
            ),
        );
    }
    failures.check();
    exceptions.check_all_used();
}
