//! Workflow commands of GitHub Actions, which become annotations of files.
//! Format: "Workflow commands for GitHub Actions", GitHub documentation.

use std::fmt::Write;

use super::located;
use crate::lint::{LintReport, Severity};
use crate::page::Columns;

/// One workflow command a line for each diagnostic, in report order.
pub fn github(report: &LintReport, base: &str) -> String {
    let mut text = String::new();
    for found in &report.diagnostics {
        let command = match found.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        let file = escaped_property(&located(base, &found.path));
        let mut place = String::new();
        if let Some(line) = found.line {
            let _ = write!(place, ",line={line}");
        }
        if let Some(Columns { start, end }) = found.columns() {
            // The last column is one of the annotation here.
            let last = end.saturating_sub(1).max(start);
            let _ = write!(place, ",col={start},endColumn={last}");
        }
        let _ = writeln!(
            text,
            "::{command} file={file}{place},title={}::{}",
            found.code,
            escaped(&found.message)
        );
    }
    text
}

/// What would end the command or its line is percent-encoded.
fn escaped(text: &str) -> String {
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

/// In a property, what would end the property is encoded too.
fn escaped_property(text: &str) -> String {
    escaped(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lint::testing::report;

    #[test]
    fn commands_are_one_line_each_and_nothing_in_them_breaks_out() {
        assert_eq!(
            github(&report(), ".llmwiki"),
            "::error file=.llmwiki/pages/a.md,line=8,col=5,endColumn=13,title=BROKEN_PAGE_LINK::page \"gone\" does not exist\n\
             ::warning file=.llmwiki/pages/b%2Cc%3A 100%25%0A.md,title=ORPHAN_PAGE::no other page links here\n\
             ::error file=.llmwiki/schema.md,title=SCHEMA_MISSING::there is no schema.md\n"
        );
    }
}
