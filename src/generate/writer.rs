//! How sections become pages: a model is asked for their openings where one is there, the files that
//! they cite are preserved, and what changed is written, several pages in one transaction.

use std::collections::{BTreeMap, BTreeSet};

use super::marker::{self, About, Author, Marker};
use super::sections::{self, Section};
use super::{
    Existing, GenerateReport, GenerateRequest, Pen, SectionChange, SectionMode, SectionReport,
    hash_of_pages, prose,
};
use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
use crate::id::{PageId, SourceId};
use crate::model::{self, ModelError};
use crate::wiki::{CodeMap, Expectation, NewSource, SNAPSHOT_ORIGIN, UpsertPage, Wiki};

fn source(path: &str, content: Vec<u8>) -> NewSource {
    let mut name = path;
    while name.len() > 255 {
        let cut = name.len() - 255;
        let at = (cut..name.len())
            .find(|&at| name.is_char_boundary(at))
            .unwrap_or(name.len());
        name = &name[at..];
    }
    NewSource {
        name: name.to_owned(),
        content,
        media_type: None,
        origin: Some(format!("{SNAPSHOT_ORIGIN}{path}")),
    }
}

/// Most pages of one transaction, and most bytes of the snapshots that go with them.
const BATCH_PAGES: usize = 128;
const BATCH_BYTES: usize = 16 << 20;

/// Writes sections, several in one transaction.
pub(super) struct Writer<'a> {
    wiki: &'a Wiki,
    ctx: &'a Context,
    request: &'a GenerateRequest,
    code: &'a CodeMap,
    existing: &'a BTreeMap<String, Existing>,
    pen: Pen,
    /// How often the model failed, one time after another.
    failures: u32,
    /// Sections that it was not asked for after that.
    unasked: u64,
    /// Secrets and names that were kept from it.
    hidden: u64,
    /// Sections of whose lines it was shown some.
    lines_cut: u64,
    /// Sections of whose outline it was shown the beginning.
    outlines_cut: u64,
    /// Snapshot of each file that was cited so far; none for one that holds secrets.
    snapshots: BTreeMap<String, Option<SourceId>>,
    /// Sources that are preserved, or are among those below; asked for once.
    preserved: Option<BTreeSet<SourceId>>,
    sources: Vec<NewSource>,
    bytes: usize,
    /// Pages that wait, with the places of their reports.
    pages: Vec<(usize, UpsertPage)>,
    /// What each page says of itself, but the one about the whole.
    said: BTreeMap<String, String>,
}

/// Where the opening of a section comes from.
enum Opening<'a> {
    /// It has none, and perhaps why.
    None(Option<String>),
    /// The page has it.
    Same(&'a Author),
    /// A model would be asked.
    Wanted,
    /// A model wrote it.
    Written(prose::Read),
}

/// After so many failures one after another a model is not asked again.
const MOST_FAILURES: u32 = 2;

impl<'a> Writer<'a> {
    pub(super) fn new(
        wiki: &'a Wiki,
        ctx: &'a Context,
        request: &'a GenerateRequest,
        code: &'a CodeMap,
        existing: &'a BTreeMap<String, Existing>,
        pen: Pen,
    ) -> Self {
        Self {
            wiki,
            ctx,
            request,
            code,
            existing,
            pen,
            failures: 0,
            unasked: 0,
            hidden: 0,
            lines_cut: 0,
            outlines_cut: 0,
            snapshots: BTreeMap::new(),
            preserved: None,
            sources: Vec::new(),
            bytes: 0,
            pages: Vec::new(),
            said: BTreeMap::new(),
        }
    }

    /// Files that are cited and hold secrets.
    pub(super) fn withheld(self) -> Vec<String> {
        let files = self.snapshots.into_iter();
        files
            .filter(|(_, id)| id.is_none())
            .map(|(path, _)| path)
            .collect()
    }

    fn author(&self, inputs: &str) -> Author {
        let by = match &self.pen {
            Pen::Model(model) => marker::name(&model.name),
            Pen::Nobody | Pen::Templates => String::new(),
        };
        Author {
            from: inputs.to_owned(),
            by,
        }
    }

    /// What there is to say at the end.
    pub(super) fn note(&self) -> Option<String> {
        let mut notes = Vec::new();
        let models = &self.wiki.config().models;
        if models.untrusted && matches!(self.pen, Pen::Nobody) {
            notes.push(models.why_none());
        }
        if self.hidden > 0 {
            notes.push(format!(
                "{} secrets or names were kept from the model",
                self.hidden
            ));
        }
        if self.lines_cut > 0 {
            notes.push(format!(
                "of {} sections the model was shown some of the lines that they cite",
                self.lines_cut
            ));
        }
        if self.outlines_cut > 0 {
            notes.push(format!(
                "of {} sections the model was shown the first {} KiB of the outline",
                self.outlines_cut,
                prose::OUTLINE_BYTES >> 10
            ));
        }
        if self.unasked > 0 {
            notes.push(format!(
                "the model failed {MOST_FAILURES} times one after another and was not asked for {} \
                 sections; run again to ask for them",
                self.unasked
            ));
        }
        (!notes.is_empty()).then(|| notes.join("; "))
    }

    /// The opening of a section: the one that its page has, where that was made from the same, else
    /// one that the model is asked for.
    fn opening(
        &mut self,
        section: &Section,
        ids: &BTreeMap<&str, SourceId>,
        outline: &str,
        inputs: &str,
        there: Option<&'a Existing>,
    ) -> Result<Opening<'a>> {
        if let Some(author) = there
            .filter(|there| there.is_untouched())
            .and_then(Existing::author)
            && author.from == inputs
            && self.pen.keeps(Some(author))
        {
            return Ok(Opening::Same(author));
        }
        let Pen::Model(model) = &self.pen else {
            return Ok(Opening::None(None));
        };
        // A page of a person's own is not written anyway.
        if there.is_some_and(|there| !there.is_untouched()) && !self.request.force {
            return Ok(Opening::None(None));
        }
        let shown = prose::Shown::of(section, self.code, |file| ids.contains_key(file));
        if shown.is_empty() {
            return Ok(Opening::None(None));
        }
        if self.request.dry_run {
            return Ok(Opening::Wanted);
        }
        if self.failures >= MOST_FAILURES {
            self.unasked += 1;
            return Ok(Opening::None(None));
        }
        let (prompt, hidden) = shown.prompt(&section.title, outline);
        self.hidden += u64::from(hidden);
        self.lines_cut += u64::from(shown.is_part());
        self.outlines_cut += u64::from(outline.len() > prose::OUTLINE_BYTES);
        match model::complete(model, &prompt, self.ctx, &mut |_| {}) {
            Ok(written) => {
                self.failures = 0;
                let read = shown.read(&written);
                if read.opening.is_some() {
                    return Ok(Opening::Written(read));
                }
                Ok(Opening::None(Some(format!(
                    "what {} wrote cites nothing that holds",
                    model.name
                ))))
            }
            Err(ModelError::Aborted) => Err(Error::new(
                ErrorCode::Aborted,
                "the operation was cancelled",
            )),
            Err(error) => {
                self.failures += 1;
                Ok(Opening::None(Some(format!(
                    "the model {} failed: {error}",
                    model.name
                ))))
            }
        }
    }

    /// The snapshot of a file; none for one that holds secrets.
    fn snapshot(&mut self, path: &str) -> Option<SourceId> {
        if let Some(known) = self.snapshots.get(path) {
            return *known;
        }
        let file = self.code.file(path).filter(|file| file.lines > 0)?;
        let text = self.code.text(path)?;
        let id =
            (crate::code::redact(&text).secrets == 0).then(|| SourceId::from_hash(file.sha256));
        self.snapshots.insert(path.to_owned(), id);
        id
    }

    /// Renders a section, and has its page written if it is not as it should be.
    pub(super) fn put(&mut self, mut section: Section, report: &mut GenerateReport) -> Result<()> {
        let page = section.page();
        let most = usize::try_from(self.ctx.limits.max_page_bytes).unwrap_or(usize::MAX);
        section.fit(most);
        let files = section.files();
        let mut ids: BTreeMap<&str, SourceId> = BTreeMap::new();
        for path in &files {
            if let Some(id) = self.snapshot(path) {
                ids.insert(path, id);
            }
        }
        let listing = (ids.is_empty()).then(|| self.code.listing().into_bytes());
        if let Some(listing) = &listing {
            // A page cites something that exists: where no file can be preserved, the list of
            // files.
            ids.insert("", SourceId::of(listing));
        }
        let (outline, mut redacted) = section.render(&ids);
        let there = self.existing.get(&page);
        let inputs = marker::hash(&[
            &prose::REVISION.to_string(),
            &section.title,
            &section.summary,
            &outline,
        ]);
        let opening = self.opening(&section, &ids, &outline, &inputs, there)?;
        let (mut dropped, mut note) = (Vec::new(), None);
        let mut author = None;
        let body = match opening {
            Opening::None(why) => {
                note = why;
                outline
            }
            Opening::Same(same) => {
                author = Some(same.clone());
                there.map_or(outline, |there| marker::above(&there.body).to_owned())
            }
            Opening::Wanted => {
                author = Some(self.author(&inputs));
                outline
            }
            Opening::Written(read) => {
                author = Some(self.author(&inputs));
                redacted += read.redacted;
                dropped = read.dropped;
                section.open_with(read.opening.unwrap_or_default());
                section.fit(most);
                section.render(&ids).0
            }
        };
        report.redacted += u64::from(redacted);
        let mode = match author {
            Some(_) => SectionMode::Model,
            None => SectionMode::Extractive,
        };
        let about = (section.id == sections::WHOLE[0]).then(|| About {
            signature: self.code.signature.clone(),
            files: self.code.files.len() as u64,
            // A part says nothing of the other pages, which the next whole run looks at.
            pages: match self.request.path {
                Some(_) => "part".to_owned(),
                None => hash_of_pages(&self.said, self.ctx),
            },
        });
        let body = marker::mark(
            &body,
            &[&section.title, &section.summary],
            author.as_ref(),
            about.as_ref(),
        );
        if let Some(marker) = Marker::of(&body)
            && about.is_none()
        {
            self.said.insert(page.clone(), marker.said());
        }
        let (change, reason) = match there {
            Some(there) if there.body == body && there.is_untouched() => {
                (SectionChange::Unchanged, "")
            }
            Some(there) if !self.request.force && !there.is_untouched() => (
                SectionChange::Edited,
                "its page was edited by hand; --force writes it anew",
            ),
            Some(there) if there.author() != author.as_ref() && there.is_made_from(&inputs) => {
                (SectionChange::Updated, "another hand writes its opening")
            }
            Some(_) => (SectionChange::Updated, "what it is made from changed"),
            None => (SectionChange::Created, "it has no page"),
        };
        let at = report.sections.len();
        report.sections.push(SectionReport {
            id: section.id.clone(),
            page: page.clone(),
            change,
            reason: reason.to_owned(),
            mode,
            dropped,
            note,
        });
        if self.request.dry_run
            || !matches!(change, SectionChange::Updated | SectionChange::Created)
        {
            return Ok(());
        }
        let mut fail = |error: &Error| {
            report.sections[at].change = SectionChange::Failed;
            report.sections[at].reason = error.to_string();
        };
        let id = match PageId::parse(&page) {
            Ok(id) => id,
            Err(error) => {
                fail(&Error::new(
                    ErrorCode::InvalidPath,
                    format!("{page}: {error}"),
                ));
                return Ok(());
            }
        };
        for (path, id) in &ids {
            if let Err(error) = self.preserve(path, *id, listing.as_deref()) {
                fail(&error);
                return Ok(());
            }
        }
        let expected = there.map_or(Expectation::Absent, |there| {
            Expectation::Sha256(there.sha256)
        });
        let sources: BTreeSet<SourceId> = ids.into_values().collect();
        self.pages.push((
            at,
            UpsertPage {
                id,
                title: section.title,
                summary: section.summary,
                sources: sources.into_iter().collect(),
                body,
                expected,
                message: String::new(),
            },
        ));
        if self.pages.len() >= BATCH_PAGES || self.bytes >= BATCH_BYTES {
            self.flush(report)?;
        }
        Ok(())
    }

    /// Has the snapshot of a file preserved with the next pages.
    fn preserve(&mut self, path: &str, id: SourceId, listing: Option<&[u8]>) -> Result<()> {
        let preserved = match &mut self.preserved {
            Some(preserved) => preserved,
            unknown => unknown.insert(self.wiki.source_ids(self.ctx)?),
        };
        if preserved.contains(&id) {
            return Ok(());
        }
        let (name, bytes) = match listing {
            Some(listing) => ("files", listing.to_vec()),
            None => match self.code.bytes(path)? {
                Some(bytes) => (path, bytes),
                None => {
                    return Err(Error::new(
                        ErrorCode::Conflict,
                        format!("{path} changed while it was described"),
                    )
                    .with_hint("run `llmwiki generate` again"));
                }
            },
        };
        preserved.insert(id);
        self.bytes += bytes.len();
        self.sources.push(source(name, bytes));
        Ok(())
    }

    /// Writes what waits.
    pub(super) fn flush(&mut self, report: &mut GenerateReport) -> Result<()> {
        if self.pages.is_empty() {
            return Ok(());
        }
        self.bytes = 0;
        let sources = std::mem::take(&mut self.sources);
        let (places, pages): (Vec<usize>, Vec<UpsertPage>) =
            std::mem::take(&mut self.pages).into_iter().unzip();
        let (added, outcomes) = self.wiki.put_generated(self.ctx, sources, pages)?;
        report.snapshots += added;
        for (at, outcome) in places.into_iter().zip(outcomes) {
            if let Err(error) = outcome {
                report.sections[at].change = SectionChange::Failed;
                report.sections[at].reason = error.to_string();
            }
        }
        Ok(())
    }
}
