//! The code wiki: pages below `code/` that say what a project is, how it is laid out, what its
//! modules define and who uses them. Made from the index alone; every statement about code links to
//! the preserved snapshot of the lines that it was made from.
//!
//! A generated page says so in a comment at its end, with the hash of what it was made from and of
//! its own text. So a page whose inputs are the same is left alone, one that a person edited is
//! recognised and kept, and the state travels with the page through git. Equal code gives equal
//! bytes.

mod map;
mod marker;
mod prose;
mod sections;
mod text;
mod writer;

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
use crate::ground::Dropped;
use crate::id::{ContentHash, PageId};
use crate::model::Model;
use crate::wiki::{Expectation, Wiki};

use map::Map;
use marker::{Author, Marker};
use sections::Section;
use writer::Writer;

/// Version of the layout of a report of `show`.
const SCHEMA_VERSION: u32 = 1;
/// Folder of the pages.
const FOLDER: &str = "code/";

/// What `generate` is to do.
#[derive(Debug, Clone, Default)]
pub struct GenerateRequest {
    /// Only modules at or below this path of the project, and the sections that list them.
    pub path: Option<String>,
    /// Overwrite pages that were edited by hand.
    pub force: bool,
    /// Say what would be done, and do nothing.
    pub dry_run: bool,
    /// The model to use.
    pub model: Option<String>,
    /// Use no model.
    pub no_model: bool,
}

/// What became of a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SectionChange {
    /// Its page is new.
    Created,
    /// Its inputs changed.
    Updated,
    /// Its inputs are the same.
    Unchanged,
    /// Somebody edited its page, which was left alone.
    Edited,
    /// Its subject is gone, and so is its page.
    Removed,
    /// Its page cannot be written.
    Failed,
}

/// Who wrote a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SectionMode {
    /// A model wrote its opening; the rest is made from the index.
    Model,
    /// All of it is made from the index.
    Extractive,
}

/// A section.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SectionReport {
    /// Its id, such as `architecture` or `modules/src/store`.
    pub id: String,
    /// Its page.
    pub page: String,
    /// What became of it, or with a dry run would.
    pub change: SectionChange,
    /// Why.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Who wrote it; with a dry run, who would, unless the model fails.
    pub mode: SectionMode,
    /// What was taken out of what the model wrote.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dropped: Vec<Dropped>,
    /// What else there is to say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// What `generate` did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GenerateReport {
    /// Name of the project.
    pub project: String,
    /// Hash of its code.
    pub signature: String,
    /// Whether nothing had to be done.
    pub up_to_date: bool,
    /// Whether this is what would be done.
    pub dry_run: bool,
    /// Every section that was looked at.
    pub sections: Vec<SectionReport>,
    /// Snapshots of files that were preserved now.
    pub snapshots: u64,
    /// Files that are cited by line and not preserved, since they hold secrets; not told when all
    /// is up to date.
    pub withheld: Vec<String>,
    /// Secrets and names that were taken out of what is shown.
    pub redacted: u64,
    /// The model that was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What else there is to say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Lines that a section cites.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ShownCitation {
    /// Path below the project, as it was called when the section was made.
    pub file: String,
    /// First line.
    pub line: u32,
    /// The preserved snapshot.
    pub source_id: String,
}

/// A section as it is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ShownSection {
    /// Its id.
    pub id: String,
    /// Its title.
    pub title: String,
    /// Its text: what the page file holds below the frontmatter.
    pub body: String,
    /// What it cites, in order.
    pub citations: Vec<ShownCitation>,
    /// Its diagram in Mermaid, where it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diagram: Option<String>,
}

/// The code wiki.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ShowReport {
    /// Version of this layout.
    pub schema_version: u32,
    /// Name of the project.
    pub project: String,
    /// When the newest of the sections was written, RFC 3339.
    pub generated_at: String,
    /// Number of files that it was made from.
    pub file_count: u64,
    /// Hash of the code that it was made from.
    pub signature: String,
    /// The sections: the whole first, then the modules by path.
    pub sections: Vec<ShownSection>,
}

/// A page that is there.
struct Existing {
    title: String,
    summary: String,
    body: String,
    sha256: ContentHash,
    written_at: String,
    marker: Option<Marker>,
}

impl Existing {
    /// Whether it is what was generated.
    fn is_untouched(&self) -> bool {
        self.marker
            .as_ref()
            .is_some_and(|marker| marker.holds(&self.body, &[&self.title, &self.summary]))
    }

    fn author(&self) -> Option<&Author> {
        self.marker.as_ref()?.author.as_ref()
    }

    /// Whether a model wrote its opening from this.
    fn is_made_from(&self, inputs: &str) -> bool {
        self.author().is_some_and(|author| author.from == inputs)
    }

    fn mode(&self) -> SectionMode {
        match self.author() {
            Some(_) => SectionMode::Model,
            None => SectionMode::Extractive,
        }
    }
}

/// Who writes.
enum Pen {
    /// A model, as long as it answers.
    Model(Model),
    /// No model is there; what one wrote before is kept while what it was made from is the same.
    Nobody,
    /// No model is wanted.
    Templates,
}

impl Pen {
    /// Whether a text may stay.
    fn keeps(&self, author: Option<&Author>) -> bool {
        match (self, author) {
            (Self::Model(model), Some(author)) => author.by == marker::name(&model.name),
            (Self::Model(_), None) | (Self::Templates, Some(_)) => false,
            (Self::Nobody, _) | (Self::Templates, None) => true,
        }
    }
}

/// Brings the code wiki up to date.
///
/// # Errors
/// `NOT_INITIALIZED` where no project belongs to the wiki; `INVALID_ARGUMENT` for a path that no
/// module is at, or a model that is not configured; those of the store. A page that cannot be
/// written is reported and stops nothing, and so does a model that fails.
pub fn generate(wiki: &Wiki, ctx: &Context, request: &GenerateRequest) -> Result<GenerateReport> {
    let pen = if request.no_model {
        Pen::Templates
    } else {
        let chosen = wiki.config().models.choose(request.model.as_deref())?;
        chosen.map_or(Pen::Nobody, Pen::Model)
    };
    let state = wiki.code(ctx)?;
    let existing = existing(wiki, ctx)?;
    let mut report = GenerateReport {
        project: state.name(),
        signature: state.signature(),
        up_to_date: false,
        dry_run: request.dry_run,
        sections: Vec::new(),
        snapshots: 0,
        withheld: Vec::new(),
        redacted: 0,
        model: match &pen {
            Pen::Model(model) => Some(model.name.clone()),
            Pen::Nobody | Pen::Templates => None,
        },
        note: None,
    };
    if request.path.is_none() && is_made_from(&existing, &report.signature, &pen, ctx) {
        report.up_to_date = true;
        let pages = existing.iter().filter(|(_, there)| there.marker.is_some());
        report.sections = pages
            .map(|(page, there)| SectionReport {
                id: page.strip_prefix(FOLDER).unwrap_or(page).to_owned(),
                page: page.clone(),
                change: SectionChange::Unchanged,
                reason: String::new(),
                mode: there.mode(),
                dropped: Vec::new(),
                note: None,
            })
            .collect();
        return Ok(report);
    }
    let code = match state.map() {
        Ok(code) => code,
        // What is damaged is mended there.
        Err(_) => wiki.code_map(ctx)?,
    };
    if code.files.is_empty() {
        return Err(Error::new(
            ErrorCode::InvalidArgument,
            "there is no code in the project",
        )
        .with_hint("`llmwiki status --skipped` says what was left out, and why"));
    }
    let map = Map::new(&code);
    if let Some(path) = &request.path
        && !map.modules.iter().any(|module| is_at(&module.path, path))
    {
        return Err(Error::new(
            ErrorCode::InvalidArgument,
            format!("no module is at {path:?}"),
        )
        .with_hint("name a folder or file of the project, relative to it"));
    }
    let mut made = sections::all(&map);
    let ids: BTreeSet<String> = made.iter().map(Section::page).collect();
    if let Some(path) = &request.path {
        made.retain(|section| {
            section
                .module
                .as_deref()
                .is_none_or(|module| is_at(module, path))
        });
    }
    let mut writer = Writer::new(wiki, ctx, request, &code, &existing, pen);
    // The page about the whole says what the others say of themselves, so it comes last.
    made.rotate_left(1);
    for section in made {
        ctx.check()?;
        writer.put(section, &mut report)?;
        let count = report.sections.len() as u64;
        ctx.progress("writing pages", count, Some(ids.len() as u64));
    }
    writer.flush(&mut report)?;
    report.sections.rotate_right(1);
    report.note = writer.note();
    report.withheld = writer.withheld();
    if request.path.is_none() {
        for (page, there) in existing.iter().filter(|(page, _)| !ids.contains(*page)) {
            let done = remove(wiki, ctx, request, page, there)?;
            report.sections.extend(done);
        }
    }
    report.up_to_date = report.sections.iter().all(|section| {
        matches!(
            section.change,
            SectionChange::Unchanged | SectionChange::Edited
        )
    });
    Ok(report)
}

/// How pages are made; a change of that makes all of them anew.
const REVISION: u32 = 2;

/// Hash of what pages say of themselves, and of how they are made.
fn hash_of_pages(said: &BTreeMap<String, String>, ctx: &Context) -> String {
    let mut parts = vec![format!(
        "{REVISION} {} {}",
        env!("CARGO_PKG_VERSION"),
        ctx.limits.max_page_bytes
    )];
    parts.extend(said.iter().map(|(page, said)| format!("{page} {said}")));
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    marker::hash(&parts)
}

/// Whether the pages are those that code of this signature makes, every one as it was made.
fn is_made_from(
    existing: &BTreeMap<String, Existing>,
    signature: &str,
    pen: &Pen,
    ctx: &Context,
) -> bool {
    let whole = format!("{FOLDER}{}", sections::WHOLE[0]);
    let about = existing
        .get(&whole)
        .and_then(|there| there.marker.as_ref()?.about.as_ref());
    let Some(about) = about.filter(|about| about.signature == signature) else {
        return false;
    };
    let mut said: BTreeMap<String, String> = BTreeMap::new();
    for (page, there) in existing {
        let Some(marker) = &there.marker else {
            continue;
        };
        if !there.is_untouched() || !pen.keeps(marker.author.as_ref()) {
            return false;
        }
        if *page != whole {
            said.insert(page.clone(), marker.said());
        }
    }
    about.pages == hash_of_pages(&said, ctx)
}

/// Whether a module is at or below a path.
fn is_at(module: &str, path: &str) -> bool {
    let path = path.trim_end_matches('/').trim_start_matches("./");
    path.is_empty()
        || path == "."
        || module == path
        || module
            .strip_prefix(path)
            .is_some_and(|rest| rest.starts_with('/'))
}

/// The pages of the folder, by id.
fn existing(wiki: &Wiki, ctx: &Context) -> Result<BTreeMap<String, Existing>> {
    let texts = wiki.page_texts(ctx, FOLDER)?.into_iter();
    let pages = texts.map(|page| {
        let body = text::body_of(&page.markdown).to_owned();
        let there = Existing {
            title: page.title,
            summary: page.summary,
            marker: Marker::of(&body),
            body,
            sha256: page.sha256,
            written_at: page.written_at,
        };
        (page.id.to_string(), there)
    });
    Ok(pages.collect())
}

/// Takes away the page of a section whose subject is gone; one that a person made or edited stays.
fn remove(
    wiki: &Wiki,
    ctx: &Context,
    request: &GenerateRequest,
    page: &str,
    there: &Existing,
) -> Result<Option<SectionReport>> {
    // A page of a person's own, in this folder.
    if there.marker.is_none() {
        return Ok(None);
    }
    let mut done = SectionReport {
        id: page.strip_prefix(FOLDER).unwrap_or(page).to_owned(),
        page: page.to_owned(),
        change: SectionChange::Removed,
        reason: "its subject is gone".to_owned(),
        mode: there.mode(),
        dropped: Vec::new(),
        note: None,
    };
    if !request.force && !there.is_untouched() {
        done.change = SectionChange::Edited;
        "its subject is gone, but its page was edited by hand".clone_into(&mut done.reason);
        return Ok(Some(done));
    }
    if !request.dry_run {
        let id = PageId::parse(page)
            .map_err(|cause| Error::new(ErrorCode::InvalidPath, format!("{page}: {cause}")))?;
        wiki.delete_page(ctx, &id, Expectation::Any, "its subject is gone")?;
    }
    Ok(Some(done))
}

/// Shows the code wiki, or one section of it, as its pages are now.
///
/// # Errors
/// `PAGE_NOT_FOUND` where nothing was generated, or no such section.
pub fn show(wiki: &Wiki, ctx: &Context, section: Option<&str>) -> Result<ShowReport> {
    let mut report = ShowReport {
        schema_version: SCHEMA_VERSION,
        project: String::new(),
        generated_at: String::new(),
        file_count: 0,
        signature: String::new(),
        sections: Vec::new(),
    };
    for (page, there) in existing(wiki, ctx)? {
        if there.marker.is_none() {
            continue;
        }
        let id = page.strip_prefix(FOLDER).unwrap_or(&page).to_owned();
        if id == sections::WHOLE[0] {
            report.project.clone_from(&there.title);
            if let Some(about) = there.marker.and_then(|marker| marker.about) {
                report.file_count = about.files;
                report.signature = about.signature;
            }
        }
        if section.is_some_and(|wanted| wanted.trim_end_matches('/') != id) {
            continue;
        }
        report.generated_at = report.generated_at.max(there.written_at);
        report.sections.push(ShownSection {
            id,
            title: there.title,
            citations: text::citations(&there.body),
            diagram: text::diagram(&there.body),
            body: there.body,
        });
    }
    if report.sections.is_empty() {
        let error = match section {
            Some(section) => Error::new(
                ErrorCode::PageNotFound,
                format!("there is no section {section:?}"),
            ),
            None => Error::new(ErrorCode::PageNotFound, "no code wiki was generated yet"),
        };
        return Err(
            error.with_hint("`llmwiki generate` makes it; `llmwiki show` lists the sections")
        );
    }
    report.sections.sort_by_key(|section| {
        let place = sections::WHOLE
            .iter()
            .position(|known| *known == section.id);
        (place.unwrap_or(sections::WHOLE.len()), section.id.clone())
    });
    Ok(report)
}
